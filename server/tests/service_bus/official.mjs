// Microsoft's own client against the double: what it is content with is how the service behaves.
//
// node official.mjs <connection string>
import assert from "node:assert/strict";
import { ServiceBusClient } from "@azure/service-bus";

const client = new ServiceBusClient(process.argv[2], { retryOptions: { maxRetries: 0, timeoutInMs: 10_000 } });
const queue = `official-${Date.now()}`;
const sender = client.createSender(queue);
const receiver = client.createReceiver(queue, { receiveMode: "peekLock" });

async function receive(wait = 5_000) {
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: wait });
  return message;
}

await sender.sendMessages({ body: { id: "one" }, messageId: "m-1" });
let message = await receive();
assert.deepEqual(message.body, { id: "one" });
assert.equal(message.deliveryCount, 0);
await receiver.abandonMessage(message);
message = await receive();
assert.deepEqual([message.body.id, message.deliveryCount], ["one", 1]);
await receiver.completeMessage(message);
assert.equal(await receive(500), undefined);

const began = Date.now();
const later = new Date(began + 1_500);
const sequences = await sender.scheduleMessages(["two", "three"].map((id) => ({ body: { id }, messageId: id })), later);
assert.equal(sequences.length, 2);
await sender.cancelScheduledMessages(sequences[1]);
message = await receive();
assert.equal(message.body.id, "two");
assert.ok(Date.now() - began >= 1_400, "not before its time");
await receiver.completeMessage(message);
assert.equal(await receive(500), undefined);

// As Parlour schedules: by an ordinary send.
await sender.sendMessages({ body: { id: "four" }, messageId: "four", scheduledEnqueueTimeUtc: new Date(Date.now() + 1_000) });
assert.equal(await receive(300), undefined);
message = await receive();
assert.equal(message.body.id, "four");
await receiver.deadLetterMessage(message, { deadLetterReason: "test" });
const dead = client.createReceiver(queue, { subQueueType: "deadLetter" });
const [letter] = await dead.receiveMessages(1, { maxWaitTimeInMs: 5_000 });
assert.equal(letter.body.id, "four");
await dead.completeMessage(letter);

await client.close();
console.log("the official client is content");
