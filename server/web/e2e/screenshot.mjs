// Makes docs/screenshot.png from a real conversation: one side in a wide window, the other on a phone.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Person, Server, launch } from "./harness.mjs";

const target = fileURLToPath(new URL("../../../docs/screenshot.png", import.meta.url));
const server = await Server.start();
const browser = await launch();
try {
  const ada = await Person.register(browser, server, "Ada Byron", { viewport: { width: 1120, height: 720 }, deviceScaleFactor: 1.5 });
  await ada.makeRoom("Garden club", "Seedlings to swap, and what ate them");
  await ada.makeRoom("Analytical engine", "Notes, proofs and the odd gear");
  await ada.makeRoom("Tea at four", "Biscuits, and what became of the engine");
  const links = {};
  for (const name of ["Garden club", "Analytical engine", "Tea at four"]) {
    await ada.open(name);
    await ada.inRoom(name);
    links[name] = new URL(await ada.inviteLink()).pathname;
  }
  const bob = await Person.register(browser, server, "Charles", { path: links["Garden club"], viewport: { width: 360, height: 640 }, deviceScaleFactor: 1.5, colorScheme: "dark" });
  const join = async (name) => {
    await bob.page.getByRole("button", { name: "Join room" }).click();
    await bob.inRoom(name);
  };
  await join("Garden club");
  await bob.say("The slugs have found the lettuce again");
  await bob.say("Copper tape did nothing");
  await bob.page.goto(server.url + links["Analytical engine"]);
  await join("Analytical engine");
  await bob.say("The carriage runs true at last");
  await bob.page.goto(server.url + links["Tea at four"]);
  await join("Tea at four");

  await bob.say("Is the kettle on?");
  await ada.sees("Is the kettle on?");
  await ada.say("It is! Come over whenever you like. There are still some of the ginger biscuits.");
  await bob.sees("It is! Come over whenever you like. There are still some of the ginger biscuits.");
  await bob.say("On my way, then. I am bringing the drawings.");
  await bob.say("Note G is the best thing anybody wrote about it, by the way.");
  await ada.sees("Note G is the best thing anybody wrote about it, by the way.");
  await ada.message("Note G is the best thing anybody wrote about it, by the way.").hover();
  await ada.message("Note G is the best thing anybody wrote about it, by the way.").getByRole("button", { name: "Reply" }).click();
  await ada.say("You are too kind. It weaves algebraical patterns, just as the loom weaves flowers and leaves.");
  await bob.sees("You are too kind. It weaves algebraical patterns, just as the loom weaves flowers and leaves.");
  await bob.act("You are too kind. It weaves algebraical patterns, just as the loom weaves flowers and leaves.", "React");
  await bob.page.getByRole("button", { name: "❤️" }).click();
  await ada.page.locator(".reaction").waitFor();
  await ada.page.getByRole("button", { name: "Members" }).click();
  await ada.page.mouse.move(180, 600);
  await bob.page.mouse.move(180, 30);
  await bob.composer.pressSequentially("I shall quote you on that");
  await ada.page.getByText("Charles is typing", { exact: true }).waitFor();
  const shot = async (person) => `data:image/png;base64,${(await person.page.screenshot()).toString("base64")}`;
  const [wide, phone] = [await shot(ada), await shot(bob)];
  const page = await browser.newPage({ viewport: { width: 1320, height: 860 }, deviceScaleFactor: 1.15 });
  await page.setContent(`<style>
    body { margin: 0; height: 100vh; background: #e9e3d8; position: relative; overflow: hidden }
    img { position: absolute; display: block }
    .wide { left: 50px; top: 50px; width: 1120px; border-radius: 14px; box-shadow: 0 14px 40px #3d321f38 }
    .phone { right: 50px; bottom: 40px; width: 330px; border-radius: 28px; border: 7px solid #131211; background: #131211; box-shadow: 0 14px 40px #3d321f66 }
  </style><img class="wide" src="${wide}"><img class="phone" src="${phone}">`);
  await page.waitForFunction(() => [...document.images].every((image) => image.complete && image.naturalWidth > 0));
  mkdirSync(dirname(target), { recursive: true });
  await page.screenshot({ path: target });
} finally {
  await browser.close();
  await server.stop();
}
