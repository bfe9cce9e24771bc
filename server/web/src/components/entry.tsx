// Logging in and making an account.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { logIn, register } from "../account";
import { session } from "../link";
import { route } from "../route";
import { WireError } from "../wire_error";
import { Field, Form } from "./dialog";
import { Mark } from "./mark";

export function Entry(): JSX.Element {
  const at = route.value;
  const invited = at.kind === "invite" ? at.inviteId : undefined;
  const [isNew, setNew] = useState(invited !== undefined);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [invite, setInvite] = useState(invited ?? "");
  const [needsInvite, setNeedsInvite] = useState(false);
  const note = session.value.kind === "signedOut" ? session.value.note : undefined;

  const submit = async () => {
    if (!isNew) {
      try {
        return await logIn({ name: name.trim(), password });
      } catch (error) {
        if (error instanceof WireError && error.code === "unauthenticated") {
          throw new WireError({ code: "refused", message: "that name and password do not belong together" });
        }
        throw error;
      }
    }
    try {
      await register({ name: name.trim(), password, invite: invite.trim() || undefined });
    } catch (error) {
      if (error instanceof WireError && error.code === "forbidden") {
        setNeedsInvite(true);
        throw new WireError({ code: "refused", message: "new accounts need an invite here: ask a member for a link" });
      }
      if (error instanceof WireError && error.code === "conflict") {
        throw new WireError({ code: "refused", message: "that name is taken, or looks too much like one that is" });
      }
      throw error;
    }
  };

  return (
    <main class="entry">
      <div class="entry-card">
        <div class="entry-brand">
          <Mark size={52} />
          <h1>{isNew ? "Welcome to Parlour" : "Welcome back"}</h1>
          <p>{invited ? "You have been invited to a room. First, who are you?" : isNew ? "Make an account and start talking." : "Log in to go on talking."}</p>
        </div>
        {note && (
          <p class="entry-note" role="status">
            {note}
          </p>
        )}
        <Form key={String(isNew)} submit={isNew ? "Create account" : "Log in"} isReady={name.trim() !== "" && password !== ""} onSubmit={submit}>
          <Field label="Name" value={name} onInput={setName} maxLength={100} required autoComplete="username" autoFocus />
          <Field
            label="Password"
            type="password"
            value={password}
            onInput={setPassword}
            minLength={isNew ? 8 : undefined}
            maxLength={256}
            required
            autoComplete={isNew ? "new-password" : "current-password"}
            hint={isNew ? "At least 8 characters." : undefined}
          />
          {isNew && needsInvite && <Field label="Invite code" value={invite} onInput={setInvite} />}
        </Form>
        <p class="entry-switch">
          {isNew ? "You have an account?" : "You are new here?"}{" "}
          <button type="button" class="button link" onClick={() => setNew(!isNew)}>
            {isNew ? "Log in" : "Create an account"}
          </button>
        </p>
      </div>
    </main>
  );
}
