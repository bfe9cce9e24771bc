-- One text for SQLite and Postgres: bigint for every integer, times in milliseconds since the Unix epoch,
-- ticks in nanoseconds, ids as uuid (a 16-byte blob in SQLite), JSON as text.

create table meta (
    name text not null primary key,
    value text not null
);

create table account (
    user_id uuid not null primary key,
    name text not null,
    -- The confusable skeleton of the folded name: two look-alike names share it.
    name_key text not null,
    -- The folded name, for searching by its start.
    name_fold text not null,
    password_hash text,
    image text not null,
    biography text not null,
    is_operator boolean not null,
    is_disabled boolean not null,
    is_deleted boolean not null,
    -- Set for accounts of an identity provider.
    issuer text,
    subject text,
    created_at bigint not null,
    updated_at bigint not null
);
create unique index account_name_key on account (name_key);
create index account_name_fold on account (name_fold);

-- A log-in. One that an identity provider vouches for stays for a while after its end, so that its token, which
-- this server cannot take back, is refused.
create table session (
    session_id uuid not null primary key,
    user_id uuid not null references account (user_id),
    client_name text not null,
    client_version text not null,
    address text not null,
    created_at bigint not null,
    last_seen_at bigint not null,
    expires_at bigint not null,
    ended_at bigint
);
create index session_of_user on session (user_id);
create index session_expiry on session (expires_at);

-- SHA-256 of each valid token. A refresh adds one and lets the others live for a minute more.
create table session_token (
    token_hash bytea not null primary key,
    session_id uuid not null references session (session_id) on delete cascade,
    expires_at bigint not null
);
create index session_token_session on session_token (session_id);

-- What other processes have to learn of accounts and sessions. `seq` comes from the row `account_change` of `meta`,
-- which the writing transaction locks, so that it has no holes.
create table account_change (
    seq bigint not null primary key,
    user_id uuid not null,
    -- The session that ended; none when the account itself changed.
    session_id uuid,
    -- Whether all sessions of the account ended.
    ended boolean not null,
    created_at bigint not null
);

-- What other nodes have to read anew of rooms, written where several nodes can be. `seq` comes from the row
-- `room_change` of `meta`, in the same way.
create table room_change (
    seq bigint not null primary key,
    room_id uuid not null,
    -- The member whose own settings changed; none when anything else of the room did.
    user_id uuid,
    created_at bigint not null
);

create table room (
    room_id uuid not null primary key,
    type text not null,
    name text not null,
    topic text not null,
    image text not null,
    user_id uuid,
    is_read_only boolean not null,
    is_invite_paused boolean not null,
    slowmode_ms bigint,
    max_file_size_bytes bigint,
    allowed_mime_categories text not null,
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    -- Names the set of people of a direct message.
    participant_key text
);
create unique index room_participants on room (participant_key) where participant_key is not null;

-- The end of a room's log. `tick` is the last message's; `active_tick` that of the last message that counts as
-- activity, else the room's creation.
create table room_head (
    room_id uuid not null primary key references room (room_id),
    epoch text not null,
    seq bigint not null,
    tick bigint not null,
    active_tick bigint not null,
    -- Entries up to here are not kept.
    log_floor bigint not null default 0
);

create table member (
    room_id uuid not null references room (room_id),
    user_id uuid not null references account (user_id),
    nickname text not null,
    notification_type text not null,
    last_read_at bigint,
    last_message_at bigint,
    mentions_cleared_at bigint,
    timeout_until bigint,
    is_hidden boolean not null,
    category_id uuid,
    created_at bigint not null,
    primary key (room_id, user_id)
)
-- sqlite: without rowid
;
create index member_user on member (user_id, room_id);

create table role (
    role_id uuid not null primary key,
    room_id uuid not null references room (room_id),
    name text not null,
    color text not null,
    position bigint not null,
    permissions bigint not null,
    is_everyone boolean not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index role_room on role (room_id);
create unique index role_everyone on role (room_id) where is_everyone;

create table member_role (
    room_id uuid not null,
    user_id uuid not null,
    role_id uuid not null references role (role_id),
    primary key (room_id, user_id, role_id)
);

create table ban (
    room_id uuid not null references room (room_id),
    user_id uuid not null,
    banned_by_user_id uuid,
    reason text not null,
    created_at bigint not null,
    primary key (room_id, user_id)
);

create table invite (
    invite_id text not null primary key,
    room_id uuid not null references room (room_id),
    user_id uuid not null,
    expires_at bigint,
    max_uses bigint not null,
    uses bigint not null,
    created_at bigint not null
);
create unique index invite_owner on invite (room_id, user_id);

create table category (
    category_id uuid not null primary key,
    user_id uuid not null,
    name text not null,
    position bigint not null
);
create index category_user on category (user_id, position);

-- The first results of commands that create no message.
create table command_nonce (
    user_id uuid not null,
    op text not null,
    nonce text not null,
    result text not null,
    created_at bigint not null,
    primary key (user_id, op, nonce)
);
create index command_nonce_age on command_nonce (created_at);

-- A deleted message stays as an empty row: its key is never used again and its nonce is remembered.
create table message (
    room_id uuid not null,
    tick bigint not null,
    seq bigint not null,
    rev bigint not null,
    body_rev bigint not null,
    type text not null,
    -- Of a webhook's message the id of its sender, which is no account.
    user_id uuid,
    app_user text,
    origin bigint not null,
    nonce text,
    body text not null,
    files text,
    mentions text,
    reply_tick bigint,
    link_preview text,
    -- The poll with its tallies; who voted is in `vote`.
    poll text,
    -- What `reaction` adds up to, as it is shown; changed in the same commits.
    reactions text,
    is_edited boolean not null,
    is_forward boolean not null,
    is_pinned boolean not null,
    -- None as long as it was not changed.
    updated_at bigint,
    deleted_at bigint,
    primary key (room_id, tick)
);
create unique index message_nonce on message (room_id, user_id, origin, nonce) where nonce is not null;
create index message_reply on message (room_id, reply_tick, tick) where reply_tick is not null;
create index message_pinned on message (room_id, tick) where is_pinned;

-- The log of a room is this table and `message` together: a message is the entry of its creation. Here is one row
-- per other durable change. `tick` names the message it is about; `payload` is the event of a change that is not
-- about a message.
create table room_log (
    room_id uuid not null,
    seq bigint not null,
    tick bigint,
    payload text,
    created_at bigint not null,
    primary key (room_id, seq)
);

-- Who reacted with what. `seq` is the log entry that says so: first come, first shown.
create table reaction (
    room_id uuid not null,
    tick bigint not null,
    emoji text not null,
    user_id uuid not null,
    seq bigint not null,
    created_at bigint not null,
    primary key (room_id, tick, emoji, user_id)
)
-- sqlite: without rowid
;

create table vote (
    room_id uuid not null,
    tick bigint not null,
    user_id uuid not null,
    option_id uuid not null,
    primary key (room_id, tick, user_id)
)
-- sqlite: without rowid
;

-- Whom messages mention. `kind` is 0 for a user, 1 for a role, 2 for everyone, 3 for whoever is here; of the last two
-- `target` is the room: one row, however many people are meant.
create table mention (
    room_id uuid not null,
    kind bigint not null,
    target uuid not null,
    tick bigint not null,
    author uuid,
    primary key (room_id, kind, target, tick)
)
-- sqlite: without rowid
;

-- Threads that users follow, and those that they have decided not to.
create table thread_follow (
    room_id uuid not null,
    user_id uuid not null,
    tick bigint not null,
    is_unfollowed boolean not null,
    followed_at bigint not null,
    primary key (room_id, user_id, tick)
)
-- sqlite: without rowid
;

-- People. A pair of users is one row: `user_low` is the smaller id.
create table friend_request (
    user_low uuid not null references account (user_id),
    user_high uuid not null references account (user_id),
    sender_id uuid not null,
    created_at bigint not null,
    primary key (user_low, user_high)
);
create index friend_request_high on friend_request (user_high);

create table friendship (
    user_low uuid not null references account (user_id),
    user_high uuid not null references account (user_id),
    created_at bigint not null,
    primary key (user_low, user_high)
);
create index friendship_high on friendship (user_high);

create table user_block (
    blocker_id uuid not null references account (user_id),
    blocked_id uuid not null references account (user_id),
    created_at bigint not null,
    primary key (blocker_id, blocked_id)
);
create index user_block_blocked on user_block (blocked_id);

create table user_status (
    user_id uuid not null primary key references account (user_id),
    -- The override; none = by connection.
    status text,
    message text not null,
    expires_at bigint
);
create index user_status_expiry on user_status (expires_at) where expires_at is not null;

-- What moderators and the word filter (its own id as the actor) did.
create table moderation_log (
    log_entry_id uuid not null primary key,
    room_id uuid not null,
    type text not null,
    actor_user_id uuid not null,
    target_user_id uuid not null,
    duration_ms bigint,
    reason text not null,
    created_at bigint not null
);
create index moderation_log_room on moderation_log (room_id, created_at);

create table moderation_note (
    note_id uuid not null primary key,
    room_id uuid not null,
    target_user_id uuid not null,
    actor_user_id uuid not null,
    note text not null,
    created_at bigint not null
);
create index moderation_note_target on moderation_note (room_id, target_user_id, created_at);

create table room_filter (
    room_id uuid not null primary key references room (room_id),
    words text not null,
    action text not null,
    timeout_duration_ms bigint,
    updated_at bigint not null
);

-- Messages that the word filter rejected and acted on: a repeat is not acted on again.
create table rejected_message (
    room_id uuid not null,
    user_id uuid not null,
    origin bigint not null,
    nonce text not null,
    created_at bigint not null,
    primary key (room_id, user_id, origin, nonce)
);
create index rejected_message_age on rejected_message (created_at);

-- What is to be removed in the background: all of a deleted room, or the messages of a user up to a tick.
create table purge (
    purge_id uuid not null primary key,
    room_id uuid not null,
    user_id uuid,
    up_to bigint not null,
    created_at bigint not null
);

-- A file: an upload until something holds it. What nothing holds goes at `expires_at`, first its bytes, then the row.
create table file (
    file_id uuid not null primary key,
    -- File, Image (of a user or a room), Emoji.
    kind text not null,
    room_id uuid,
    user_id uuid not null,
    filename text not null,
    mimetype text not null,
    -- Bytes, as declared; nothing else is accepted.
    size bigint not null,
    has_thumbnail boolean not null,
    -- The message that holds it.
    tick bigint,
    created_at bigint not null,
    -- None as long as something holds it; 0 is now.
    expires_at bigint
);
create index file_of_message on file (room_id, tick);
create index file_user on file (user_id);
create index file_expiry on file (expires_at) where expires_at is not null;
create index room_deleted on room (room_id) where deleted_at is not null;

create table emoji (
    emoji_id uuid not null primary key,
    room_id uuid not null,
    user_id uuid not null,
    name text not null,
    mimetype text not null,
    created_at bigint not null
);
create unique index emoji_name on emoji (room_id, name);

-- An inbound webhook and the sender that it shows.
create table webhook (
    webhook_id uuid not null primary key,
    room_id uuid not null,
    creator_id uuid not null,
    name text not null,
    is_active boolean not null,
    app_user_id uuid not null,
    app_name text not null,
    app_image text not null,
    -- SHA-256 of the token.
    token_hash bytea not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index webhook_room on webhook (room_id, created_at);
create unique index webhook_app_user on webhook (app_user_id);

-- What can be searched, written behind the messages: up to where is in `search_head`.
create table search_entry (
    -- sqlite: entry_id integer primary key,
    room_id uuid not null,
    tick bigint not null,
    user_id uuid
    -- postgres: , document tsvector not null
);
create unique index search_entry_message on search_entry (room_id, tick);
create index search_entry_author on search_entry (user_id, tick) where user_id is not null;
-- postgres: create index search_entry_document on search_entry using gin (document);
-- sqlite: create virtual table search_text using fts5(room, body, content = '', contentless_delete = 1);

create table search_head (
    room_id uuid not null primary key,
    -- Changes up to here are taken in.
    seq bigint not null,
    -- Messages up to here are taken in.
    tick bigint not null
);

-- Web push addresses. One of a browser belongs to the log-in that gave it, and ends with it.
create table push_subscription (
    subscription_id uuid not null primary key,
    user_id uuid not null references account (user_id),
    session_id uuid not null references session (session_id) on delete cascade,
    endpoint text not null,
    -- The browser's public key and authentication secret.
    p256dh bytea not null,
    auth bytea not null,
    expires_at bigint,
    created_at bigint not null
);
create unique index push_subscription_endpoint on push_subscription (user_id, endpoint);
create index push_subscription_session on push_subscription (session_id);

-- What somebody may have to be told, written with what it is about; who that is, is found when its turn comes.
-- A row that a node works on is due again when the node has had its time.
create table notification (
    notification_id uuid not null primary key,
    -- 0 for a message, 1 for a reminder, 2 for a friend request.
    kind bigint not null,
    -- The message.
    room_id uuid,
    tick bigint,
    -- Who is told, when it is one person, and who asks to be their friend.
    user_id uuid,
    sender_id uuid,
    body text,
    tries bigint not null default 0,
    due_at bigint not null,
    created_at bigint not null,
    last_error text,
    -- Given up on; the operator can have it tried again.
    dead_at bigint
);
create index notification_due on notification (due_at) where dead_at is null;

-- A notification for one browser.
create table push_delivery (
    delivery_id uuid not null primary key,
    notification_id uuid not null,
    subscription_id uuid not null references push_subscription (subscription_id) on delete cascade,
    payload text not null,
    topic text not null,
    is_urgent boolean not null,
    tries bigint not null default 0,
    due_at bigint not null,
    created_at bigint not null,
    last_error text,
    dead_at bigint
);
create index push_delivery_due on push_delivery (due_at) where dead_at is null;
create unique index push_delivery_once on push_delivery (subscription_id, notification_id);

-- Scheduled messages and reminders. Rows that are done stay for a week.
create table job (
    job_id uuid not null primary key,
    user_id uuid not null,
    room_id uuid not null,
    payload text not null,
    run_at bigint not null,
    -- When a worker looks at it next: `run_at`, later after a rejected try, and the end of the lease of a claim, so
    -- that a claim that was left behind is found like anything else. None when it is done or was given up.
    due_at bigint,
    -- The mark of a claim, and when its lease ends.
    claim uuid,
    claimed_until bigint,
    attempts bigint not null,
    failed_at bigint,
    error_code text,
    error_message text,
    completed_at bigint,
    cancelled_at bigint,
    -- The posted message.
    tick bigint,
    -- Of the command that had it sent before its time.
    sent_nonce text,
    created_at bigint not null,
    updated_at bigint not null
);
create index job_due on job (due_at) where due_at is not null;
create index job_user on job (user_id, run_at, job_id);
create index job_room on job (room_id);
create index job_done on job (updated_at) where due_at is null;
