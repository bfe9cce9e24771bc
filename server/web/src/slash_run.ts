// What slash commands do in a room.
import { composeBody, htmlOf } from "./composed_body";
import { takeJob } from "./jobs";
import { connection } from "./link";
import { notify } from "./notices";
import { offerPush } from "./push";
import { mentionables, post } from "./outgoing";
import { updateRoom } from "./room_actions";
import type { RoomModel } from "./room";
import type { Slash } from "./slash";
import { describeWhen } from "./when";

/** Rejects with what the server refused; a message on its way is the outbox's own affair. */
export async function runSlash(room: RoomModel, slash: Slash, nonce: string): Promise<void> {
  const { roomId } = room;
  const replyRowKey = room.replyingTo.peek();
  const say = (text: string) => post(room, { text, replyRowKey });
  switch (slash.name) {
    case "remind": {
      const { job } = await connection.request("schedule.reminder", { roomId, runAt: instant(slash.when.at), text: slash.text, nonce });
      takeJob(job);
      notify(`You will be reminded: ${describeWhen(slash.when)}.`);
      offerPush();
      return;
    }
    case "schedule": {
      const body = composeBody(slash.text, mentionables(room, slash.text), room.emoji.peek() ?? []);
      const { job } = await connection.request("schedule.message", { roomId, runAt: instant(slash.when.at), ...body, replyRowKey, nonce });
      takeJob(job);
      notify(`It will be sent: ${describeWhen(slash.when)}.`);
      return;
    }
    case "poll": {
      const { question } = slash;
      const options = slash.options.map((label) => ({ id: crypto.randomUUID(), label }));
      return post(room, { text: question, poll: { question, options }, replyRowKey });
    }
    case "topic":
      return updateRoom(room, { topic: slash.text || null });
    case "me": {
      const body = composeBody(slash.text, mentionables(room, slash.text), room.emoji.peek() ?? []);
      return post(room, { text: slash.text, body: { message: `<em>${htmlOf(body)}</em>`, format: "Html" }, replyRowKey });
    }
    case "roll":
      return say(String(1 + Math.floor(Math.random() * 100)));
    case "flip":
      return say(Math.random() < 0.5 ? "heads" : "tails");
    case "shrug":
      return say(`${slash.text} ¯\\_(ツ)_/¯`.trim());
    case "tableflip":
      return say("(╯°□°)╯︵ ┻━┻");
    case "unflip":
      return say("┬─┬ノ( º _ ºノ)");
  }
}

const instant = (at: number) => new Date(at).toISOString();
