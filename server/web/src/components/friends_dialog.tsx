// Friends, requests and blocked people; opening a conversation with friends.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { openDirect } from "../direct_messages";
import { answerFriend, askFriend, blocked, friendRequests, friends, readBlocked, readFriends, setBlocked } from "../friends";
import { attempt } from "../message_actions";
import { isDrawerOpen } from "../screen";
import type { User } from "../wire/generated";
import { Avatar } from "./avatar";
import { Check, Field, Form, Modal, close } from "./dialog";
import { StatusDot } from "./status_dot";

export function FriendsDialog(): JSX.Element {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const nonce = useRef(crypto.randomUUID());
  useEffect(() => {
    void readFriends();
    void readBlocked().catch(() => undefined);
  }, []);
  const incoming = friendRequests.value.filter((request) => request.direction === "Incoming");
  const outgoing = friendRequests.value.filter((request) => request.direction === "Outgoing");
  return (
    <Modal title="Friends">
      <Form
        submit="Send request"
        isReady={name.trim() !== ""}
        onSubmit={async () => {
          await askFriend({ name: name.trim() }, nonce.current);
          nonce.current = crypto.randomUUID();
          setName("");
        }}
      >
        <Field label="Ask somebody by account name" value={name} onInput={setName} maxLength={100} autoFocus />
      </Form>
      {incoming.length > 0 && (
        <People title="Would like to be your friend">
          {incoming.map(({ user }) => (
            <Person key={user.userId} user={user} actions={{ Accept: () => answerFriend("friend.accept", user.userId), Decline: () => answerFriend("friend.decline", user.userId) }} />
          ))}
        </People>
      )}
      {outgoing.length > 0 && (
        <People title="Asked by you">
          {outgoing.map(({ user }) => (
            <Person key={user.userId} user={user} actions={{ "Take back": () => answerFriend("friend.cancel", user.userId) }} />
          ))}
        </People>
      )}
      <Form
        submit={chosen.length > 1 ? "Open conversation together" : "Open conversation"}
        isReady={chosen.length > 0}
        onSubmit={async () => {
          await openDirect(chosen, crypto.randomUUID());
          isDrawerOpen.value = false;
          close();
        }}
      >
        <People title="Your friends">
          {friends.value?.length === 0 && <li class="panel-note">Nobody yet.</li>}
          {friends.value?.map(({ user }) => (
            <li key={user.userId} class="people-row">
              <Check
                label={user.name ?? "…"}
                isOn={chosen.includes(user.userId)}
                onChange={(isOn) => setChosen(isOn ? [...chosen, user.userId] : chosen.filter((userId) => userId !== user.userId))}
              />
              <StatusDot userId={user.userId} />
              <Act label={`Remove ${user.name}`} text="Remove" run={() => answerFriend("friend.remove", user.userId)} />
            </li>
          ))}
        </People>
      </Form>
      {blocked.value.length > 0 && (
        <People title="Blocked">
          {blocked.value.map((user) => (
            <Person key={user.userId} user={user} actions={{ Unblock: () => setBlocked(user.userId, false) }} />
          ))}
        </People>
      )}
    </Modal>
  );
}

function People({ title, children }: { title: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3 class="section-title">{title}</h3>
      <ul class="people">{children}</ul>
    </section>
  );
}

function Person({ user, actions }: { user: User; actions: Record<string, () => Promise<unknown>> }): JSX.Element {
  return (
    <li class="people-row">
      <Avatar id={user.userId} name={user.name ?? ""} image={user.image} size="small" />
      <bdi class="member-name">{user.name}</bdi>
      {Object.entries(actions).map(([text, run]) => (
        <Act key={text} label={`${text}: ${user.name}`} text={text} run={run} />
      ))}
    </li>
  );
}

function Act({ label, text, run }: { label: string; text: string; run: () => Promise<unknown> }): JSX.Element {
  return (
    <button type="button" class="button quiet small" aria-label={label} onClick={() => void attempt(run())}>
      {text}
    </button>
  );
}
