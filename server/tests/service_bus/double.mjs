// A stand-in for Azure Service Bus that speaks its protocol: tokens ($cbs), queues with locks and scheduled messages,
// $management, dead letters. It says in JSON lines what happens. official.mjs, on Microsoft's own client, is the
// judge of whether it does so rightly.
//
// node double.mjs [port] — any queue exists whose name does not begin with "no-"; the key is "correct-horse".
import { createHmac, randomUUID } from "node:crypto";
import rhea from "rhea";

const LOCK_MS = Number(process.env.LOCK_MS ?? 30_000);
const MOST_DELIVERIES = 10;
const KEY = "correct-horse";
const { types, message: codec } = rhea;

const queues = new Map();
let lastSequence = 0;
const say = (event, rest = {}) => console.log(JSON.stringify({ event, ...rest }));
const textOf = (message) => {
  const content = message.body?.content ?? message.body;
  return Buffer.isBuffer(content) ? content.toString() : content;
};

function queue(name) {
  if (!queues.has(name)) queues.set(name, { name, messages: [], senders: new Set() });
  return queues.get(name);
}

// Addresses come as "queue", "/queue" or "amqp://host/queue", in any case.
const nameOf = (address) =>
  String(address ?? "")
    .toLowerCase()
    .replace(/^(amqps?|sb):\/\/[^/]*\//, "")
    .replace(/^\//, "");

function put(name, message) {
  const at = message.message_annotations?.["x-opt-scheduled-enqueue-time"];
  const entry = { message, sequence: ++lastSequence, from: at ? new Date(at).getTime() : Date.now(), deliveries: 0 };
  queue(name).messages.push(entry);
  say("stored", { queue: name, text: textOf(message), scheduled: at !== undefined });
  setTimeout(() => pump(queue(name)), Math.max(0, entry.from - Date.now()));
  return entry.sequence;
}

function pump(from) {
  for (const sender of from.senders) {
    while (sender.sendable()) {
      const entry = from.messages.find((held) => !held.lock && held.from <= Date.now());
      if (!entry) return;
      deliver(from, entry, sender);
    }
  }
}

function deliver(from, entry, sender) {
  const token = Buffer.from(randomUUID().replaceAll("-", ""), "hex");
  const until = Date.now() + LOCK_MS;
  entry.lock = setTimeout(() => back(from, entry, "lock ended"), LOCK_MS);
  const delivery = sender.send(
    {
      ...entry.message,
      delivery_count: entry.deliveries,
      message_annotations: {
        ...entry.message.message_annotations,
        "x-opt-sequence-number": types.wrap_long(entry.sequence),
        "x-opt-enqueued-time": types.wrap_timestamp(entry.from),
        "x-opt-locked-until": types.wrap_timestamp(until),
      },
    },
    token,
  );
  delivery.entry = entry;
  say("delivered", { queue: from.name, text: textOf(entry.message), deliveries: entry.deliveries });
}

function back(from, entry, why) {
  clearTimeout(entry.lock);
  entry.lock = undefined;
  entry.deliveries += 1;
  say("back", { queue: from.name, text: textOf(entry.message), why });
  if (entry.deliveries >= MOST_DELIVERIES) bury(from, entry);
  else setImmediate(() => pump(from));
}

function take(from, entry) {
  clearTimeout(entry.lock);
  from.messages = from.messages.filter((held) => held !== entry);
}

function bury(from, entry) {
  take(from, entry);
  put(`${from.name}/$deadletterqueue`, { ...entry.message, message_annotations: {} });
}

// A token is good when it is signed with the key for the address that it is shown for.
function verify(message) {
  const token = new URLSearchParams(String(message.body).replace(/^SharedAccessSignature /, ""));
  const signed = `${encodeURIComponent(token.get("sr"))}\n${token.get("se")}`;
  const expected = createHmac("sha256", KEY).update(signed).digest("base64");
  const isFor = message.application_properties.name?.startsWith("sb://");
  return isFor && token.get("sig") === expected && Number(token.get("se")) > Date.now() / 1000;
}

function manage(name, message) {
  const { operation } = message.application_properties;
  const body = message.body ?? {};
  switch (operation) {
    case "com.microsoft:schedule-message": {
      const sequences = body.messages.map((entry) => put(name, codec.decode(entry.message)));
      return { "sequence-numbers": types.wrap_array(sequences, 0x81) };
    }
    case "com.microsoft:cancel-scheduled-message": {
      const gone = new Set([...body["sequence-numbers"]].map(Number));
      const of = queue(name);
      const found = of.messages.filter((entry) => gone.has(entry.sequence));
      found.forEach((entry) => take(of, entry));
      return found.length === gone.size ? {} : undefined;
    }
    case "com.microsoft:renew-lock":
      return { expirations: types.wrap_array([...body["lock-tokens"]].map(() => Date.now() + LOCK_MS), 0x83) };
    default:
      return undefined;
  }
}

function answer(context, status, body) {
  const { connection, message } = context;
  const description = status < 300 ? "OK" : "refused";
  const code = types.wrap_int(status);
  const sender = connection.find_sender((link) => link.answers === message.reply_to);
  sender?.send({
    correlation_id: message.message_id,
    application_properties: {
      "status-code": code,
      "status-description": description,
      statusCode: code,
      statusDescription: description,
    },
    body,
  });
}

const server = rhea.create_container({ id: "service-bus-double" });
server.sasl_server_mechanisms.enable_anonymous();
server.sasl_server_mechanisms.MSSBCBS = server.sasl_server_mechanisms.ANONYMOUS;

// A link to nothing is attached to nothing, and then ended.
function missing(link) {
  link.local.attach.source = link.local.attach.target = undefined;
  link.close({ condition: "amqp:not-found", description: "The messaging entity could not be found." });
}

// The client receives.
server.on("sender_open", ({ sender, connection }) => {
  const { source, target, rcv_settle_mode, snd_settle_mode } = sender.remote.attach;
  sender.set_source({ address: source.address });
  sender.set_target({ address: target?.address });
  Object.assign(sender.local.attach, { rcv_settle_mode, snd_settle_mode });
  const name = nameOf(source.address);
  if (name === "$cbs" || name.endsWith("/$management")) {
    // Answers go to the link that has this address, or failing that this name.
    sender.answers = target?.address ?? sender.name;
    return;
  }
  if (!connection.isTrusted || name.startsWith("no-")) return missing(sender);
  sender.from = queue(name);
  sender.from.senders.add(sender);
});
server.on("sendable", ({ sender }) => sender.from && pump(sender.from));
server.on("sender_close", ({ sender }) => sender.from?.senders.delete(sender));
server.on("disconnected", ({ connection }) => {
  for (const of of queues.values()) {
    for (const sender of of.senders) if (sender.connection === connection) of.senders.delete(sender);
  }
});

// The client says what became of a message, and waits until the service has settled that.
const settle = (outcome, act) => ({ sender, delivery }) => {
  if (sender.from && delivery.entry?.lock) act(sender.from, delivery.entry);
  delivery.update(true, outcome().described());
};
server.on("accepted", settle(codec.accepted, (from, entry) => {
  take(from, entry);
  say("completed", { queue: from.name, text: textOf(entry.message) });
}));
// Abandoned messages come as modified ones, which are released ones here.
server.on("released", settle(codec.released, (from, entry) => back(from, entry, "abandoned")));
server.on("modified", settle(codec.modified, (from, entry) => back(from, entry, "abandoned")));
server.on("rejected", settle(codec.rejected, bury));

// The client sends.
server.on("receiver_open", ({ receiver, connection }) => {
  const { source, target } = receiver.remote.attach;
  receiver.set_source({ address: source?.address });
  receiver.set_target({ address: target.address });
  receiver.to = nameOf(target.address);
  const isService = receiver.to === "$cbs" || receiver.to.endsWith("/$management");
  if (!isService && (!connection.isTrusted || receiver.to.startsWith("no-"))) missing(receiver);
});
server.on("message", (context) => {
  const { receiver, delivery, message, connection } = context;
  delivery.accept();
  if (receiver.to === "$cbs") {
    const isGood = verify(message);
    connection.isTrusted ||= isGood;
    say("token", { good: isGood });
    answer(context, isGood ? 202 : 401);
  } else if (receiver.to.endsWith("/$management")) {
    const body = manage(receiver.to.slice(0, -"/$management".length), message);
    answer(context, body ? 200 : 404, body);
  } else {
    put(receiver.to, message);
  }
});
server.on("error", (error) => say("error", { error: String(error) }));
for (const kind of ["connection_error", "session_error", "sender_error", "receiver_error", "protocol_error"]) {
  server.on(kind, (context) => say("error", { kind, error: String(context.error ?? context) }));
}

server.options.receiver_options = { autoaccept: false, credit_window: 1000 };
const listening = server.listen({ port: Number(process.argv[2] ?? 0), host: "127.0.0.1" });
listening.on("listening", () => say("listening", { port: listening.address().port }));
