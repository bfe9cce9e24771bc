// The webhooks of a room. An address is shown once: when it is made.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { connection } from "../link";
import { attempt } from "../message_actions";
import type { RoomModel } from "../room";
import type { Webhook, WebhookSecretReply } from "../wire/generated";
import { CopyRow } from "./copy_row";
import { Field, Form } from "./dialog";
import { Listed, useList } from "./listed";

export function WebhooksSettings({ room }: { room: RoomModel }): JSX.Element {
  const { roomId } = room;
  const webhooks = useList(() => connection.request("webhook.list", { roomId }), [roomId]);
  const [name, setName] = useState("");
  const [secret, setSecret] = useState<WebhookSecretReply>();
  const nonce = useRef(crypto.randomUUID());
  const change = async (request: Promise<unknown>) => (await attempt(request)) && webhooks.reload();
  const rotate = (webhook: Webhook) =>
    change(connection.request("webhook.rotate", { roomId, webhookId: webhook.webhookId, nonce: crypto.randomUUID() }).then(setSecret));
  return (
    <>
      <Form
        submit="Create webhook"
        onSubmit={async () => {
          setSecret(await connection.request("webhook.create", { roomId, name: name.trim() || undefined, nonce: nonce.current }));
          nonce.current = crypto.randomUUID();
          setName("");
          webhooks.reload();
        }}
      >
        <Field label="Name" value={name} onInput={setName} maxLength={100} />
      </Form>
      {secret?.url && (
        <div role="status">
          <p class="modal-text">The address of “{secret.webhook.name}”. It is shown only now; whoever has it can write here.</p>
          <CopyRow label="Webhook address" value={new URL(secret.url, location.origin).href} />
        </div>
      )}
      <Listed list={webhooks} empty="There are no webhooks.">
        {(webhook) => (
          <li key={webhook.webhookId} class="listed-row">
            <span>
              <bdi>{webhook.name}</bdi> {!webhook.isActive && <span class="tag">Off</span>}
            </span>
            <span class="button-row">
              <button type="button" class="button quiet small" aria-label={`New address for ${webhook.name}`} onClick={() => void rotate(webhook)}>
                New address
              </button>
              <button
                type="button"
                class="button quiet small"
                aria-label={`${webhook.isActive ? "Disable" : "Enable"} ${webhook.name}`}
                onClick={() => void change(connection.request("webhook.update", { roomId, webhookId: webhook.webhookId, isActive: !webhook.isActive }))}
              >
                {webhook.isActive ? "Disable" : "Enable"}
              </button>
              <button
                type="button"
                class="button quiet small"
                aria-label={`Delete ${webhook.name}`}
                onClick={() => void change(connection.request("webhook.delete", { roomId, webhookId: webhook.webhookId }))}
              >
                Delete
              </button>
            </span>
          </li>
        )}
      </Listed>
    </>
  );
}
