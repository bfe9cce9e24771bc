import { render } from "preact";
import "@preact/signals";
import { App } from "./components/app";
import "./styles/page.css";
import { start } from "./link";

start();
render(<App />, document.getElementById("app")!);
