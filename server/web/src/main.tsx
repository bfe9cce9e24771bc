import { render } from "preact";
import "@preact/signals";
import { App } from "./components/app";
import { start } from "./store";
import "./styles/page.css";

start();
render(<App />, document.getElementById("app")!);
