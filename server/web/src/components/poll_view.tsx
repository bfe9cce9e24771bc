// A poll in the room: its options with their votes; choosing one votes, choosing it again withdraws.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { selfId } from "../link";
import { attempt, ownVote, vote } from "../message_actions";
import { people } from "../people";
import type { RoomModel } from "../room";
import type { Message, OptionId } from "../wire/generated";

export function PollView({ room, message }: { room: RoomModel; message: Message }): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  const { poll } = message;
  if (!poll) return null;
  const own = ownVote(message, selfId());
  const total = poll.options.reduce((sum, option) => sum + (option.count ?? 0), 0);
  const choose = async (optionId: OptionId) => {
    if (isBusy) return;
    setBusy(true);
    await attempt(vote(message, optionId === own ? null : optionId));
    setBusy(false);
  };
  const votersOf = (optionId: OptionId) =>
    Object.entries(poll.votes ?? {})
      .filter(([, chosen]) => chosen === optionId)
      .map(([userId]) => room.nicknameOf(userId) ?? people.get(userId).value?.name ?? "…")
      .join(", ");
  return (
    <div class="poll" role="group" aria-label={`Poll: ${poll.question}`}>
      <strong>{poll.question}</strong>
      {poll.options.map((option) => {
        const count = option.count ?? 0;
        return (
          <button key={option.id} type="button" class="poll-option" aria-pressed={option.id === own} title={votersOf(option.id)} onClick={() => void choose(option.id)}>
            <span>{option.label}</span>
            <span class="poll-count">
              {count}
              <span class="hidden">{count === 1 ? " vote" : " votes"}</span>
            </span>
            <progress max={Math.max(total, 1)} value={count} aria-hidden="true" />
          </button>
        );
      })}
      <p class="poll-note">
        {total === 1 ? "1 vote" : `${total} votes`}
        {own && (
          <>
            {" · "}
            <button type="button" class="button link" onClick={() => void choose(own)}>
              Withdraw my vote
            </button>
          </>
        )}
      </p>
    </div>
  );
}
