// Web push from the real binary to a receiver that decrypts with another implementation.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Server } from "./harness.mjs";

const require = createRequire(import.meta.url);
const { PushApiModel } = require("web-push-testing/src/PushApiModel.js");
const Receiver = require("web-push-testing/src/server.js");

const folder = mkdtempSync(join(tmpdir(), "parlour-push-"));
const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
const seen = [];
let receiver, front, server, port;

/** A receiver speaks plain HTTP; pushes go by https, so TLS ends before it. */
async function startReceiver() {
  const options = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=push", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];
  execFileSync("openssl", [...options, "-keyout", key, "-out", certificate, ...name], { stdio: "pipe" });
  receiver = new Receiver(new PushApiModel(), 0);
  receiver.startServer();
  await once(receiver._server, "listening");
  const behind = receiver._server.address().port;
  front = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port: behind, method, path: url, headers }, (answer) => {
      seen.push({ headers, status: answer.statusCode });
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  port = front.address().port;
  return `http://127.0.0.1:${behind}`;
}

let base;
before(async () => {
  base = await startReceiver();
  server = await Server.start("push.networks=127.0.0.1", `push.ports=${port}`, `push.ca_file=${certificate}`);
});
after(async () => {
  await server?.stop?.();
  front?.closeAllConnections();
  front?.close();
  receiver?._server.closeAllConnections();
  receiver?._server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function post(url, body, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${url}: ${answer.status} ${text}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}
const rpc = (user, op, data = {}) => post(`${server.url}/v1/rpc/${op}`, data, user.token);
const register = (name) => post(`${server.url}/v1/auth/register`, { name, password: "correct horse" });

async function eventually(what, check) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = await check();
    if (found) return found;
    assert.ok(Date.now() < deadline, `${what} did not happen:\n${server.output}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

test("a push is signed, decrypted by the browser alone, and its address goes when it ends", async () => {
  const [ada, bob] = [await register("Ada"), await register("Bob")];
  const { room } = await rpc(ada, "room.create", { name: "Tea", nonce: "r" });
  const { invite } = await rpc(ada, "invite.create", { roomId: room.roomId, nonce: "i" });
  await rpc(bob, "invite.join", { inviteId: invite.inviteId, nonce: "j" });
  await rpc(bob, "membership.update", { roomId: room.roomId, notificationType: "All" });

  const { publicKey } = await rpc(bob, "push.key");
  const { data } = await post(`${base}/subscribe`, { userVisibleOnly: "true", applicationServerKey: publicKey });
  const endpoint = `https://127.0.0.1:${port}/notify/${data.clientHash}`;
  await rpc(bob, "push.subscribe", { endpoint, keys: data.keys });

  const say = (message, nonce) => rpc(ada, "message.send", { roomId: room.roomId, message, nonce });
  const { message } = await say("hej å ä ö 🎉", "m1");
  const received = () => post(`${base}/get-notifications`, { clientHash: data.clientHash });
  const [pushed] = await eventually("the push", async () => {
    const { messages } = (await received()).data;
    return messages.length > 0 && messages;
  });
  const payload = JSON.parse(pushed);
  assert.equal(payload.title, "Ada");
  assert.equal(payload.body, "hej å ä ö 🎉");
  assert.deepEqual([payload.data.type, payload.data.roomId, payload.data.rowKey], ["Message", room.roomId, message.rowKey]);
  assert.equal(seen.at(-1).status, 201);
  const { urgency, topic, ttl, authorization } = seen.at(-1).headers;
  assert.deepEqual([urgency, topic.length, ttl], ["normal", 32, "86400"]);
  const claims = JSON.parse(Buffer.from(authorization.split("t=")[1].split(".")[1], "base64url").toString());
  assert.equal(claims.aud, `https://127.0.0.1:${port}`);

  await post(`${base}/expire-subscription/${data.clientHash}`, {});
  await say("is anybody there?", "m2");
  await eventually("the end of the address", async () => !(await rpc(bob, "push.list")).items?.length);
  assert.equal(seen.at(-1).status, 410);
});
