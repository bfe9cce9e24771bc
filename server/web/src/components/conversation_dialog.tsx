// Who is in a conversation: friends are added, and anybody can be taken out.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { addToDirect, removeFromDirect } from "../direct_messages";
import { friends } from "../friends";
import { selfId } from "../link";
import { attempt } from "../message_actions";
import { people } from "../people";
import type { RoomModel } from "../room";
import { Check, Form, Modal } from "./dialog";

export function ConversationDialog({ room }: { room: RoomModel }): JSX.Element {
  const [chosen, setChosen] = useState<string[]>([]);
  const nonce = useRef(crypto.randomUUID());
  const members = room.members.value ?? [];
  const others = members.filter((member) => member.userId !== selfId());
  const addable = (friends.value ?? []).map((friend) => friend.user).filter((user) => !members.some((member) => member.userId === user.userId));
  const nameOf = (userId: string) => people.get(userId).value?.name ?? "…";
  return (
    <Modal title="People in this conversation">
      <ul class="listed">
        {others.map(({ userId }) => (
          <li key={userId} class="listed-row">
            <bdi>{nameOf(userId)}</bdi>
            <button type="button" class="button quiet small" aria-label={`Take out ${nameOf(userId)}`} onClick={() => void attempt(removeFromDirect(room, userId))}>
              Take out
            </button>
          </li>
        ))}
      </ul>
      {addable.length === 0 ? (
        <p class="panel-note">All your friends are here.</p>
      ) : (
        <Form
          submit="Add"
          isReady={chosen.length > 0}
          onSubmit={async () => {
            await addToDirect(room, chosen, nonce.current);
            nonce.current = crypto.randomUUID();
            setChosen([]);
          }}
        >
          <fieldset class="choices">
            <legend>Add friends</legend>
            {addable.map(({ userId, name }) => (
              <Check
                key={userId}
                label={name ?? "…"}
                isOn={chosen.includes(userId)}
                onChange={(isOn) => setChosen(isOn ? [...chosen, userId] : chosen.filter((one) => one !== userId))}
              />
            ))}
          </fieldset>
        </Form>
      )}
    </Modal>
  );
}
