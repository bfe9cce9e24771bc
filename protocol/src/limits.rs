//! Every limit a client can meet. The constants are the protocol's; [`Limits`] is what a server tells.

use std::collections::BTreeMap;

/// Longest nonce.
pub const NONCE_LENGTH: usize = 64;
/// Items in a page when not said otherwise.
pub const PAGE_DEFAULT: usize = 15;
/// Bytes of JSON after which a page is cut.
pub const PAGE_BYTES: usize = 262_144;
/// Stored body, in UTF-16 units.
pub const STORED_UNITS: usize = 30_000;
/// Distinct mentions kept of a message.
pub const MENTIONS_PER_MESSAGE: usize = 100;
/// Ids shown for a reaction.
pub const REACTION_USER_IDS: usize = 10;
/// Threads that one is shown as followed.
pub const FOLLOWED_THREADS: usize = 50;
/// Different reactions on one message.
pub const EMOJI_PER_MESSAGE: usize = 20;
/// Voters up to whom a poll shows its votes.
pub const POLL_VOTERS: usize = 100;
/// Unread and mention counts stop here: "100 or more".
pub const COUNT_CAP: u32 = 100;
/// Entries of a catch-up frame.
pub const CATCH_UP_PAGE: usize = 100;
/// Rooms in one subscribe frame.
pub const ROOMS_PER_SUBSCRIBE: usize = 1000;
/// How long the nonces of commands that create no message are kept, in ms.
pub const NONCE_KEEP_MS: i64 = 604_800_000;
/// Allowed lifetimes of an invite, in ms; 0 is for ever.
pub const INVITE_EXPIRES_IN_MS: [u64; 7] = [1_800_000, 3_600_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000, 0];
/// Allowed uses of an invite; 0 is any number.
pub const INVITE_MAX_USES: [u32; 7] = [1, 5, 10, 25, 50, 100, 0];

object! {
    /// A budget of commands: `points` per `perMs`, then refused for `blockMs`.
    pub struct Rate {
        /// Commands in a window.
        points: u32,
        /// The window, in ms.
        per_ms: u64,
        /// How long one is refused after that, in ms.
        block_ms: u64,
    }
}

macro_rules! limits {
    ($($name:ident : $type:ty = $default:expr;)*) => {
        object! {
            /// The `limits` of the hello reply. One that is absent has its default.
            #[serde(default)]
            pub struct Limits {
                $( #[doc = concat!("`", stringify!($name), "` of the protocol's table of limits.")] $name: $type, )*
            }
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default),* }
            }
        }
    };
}

limits! {
    frame_bytes: u32 = 65_536;
    pre_hello_frame_bytes: u32 = 16_384;
    http_body_bytes: u32 = 2_097_152;
    hello_timeout_ms: u64 = 10_000;
    commands_in_flight: u32 = 256;
    frames_per_second: u32 = 100;
    frame_burst: u32 = 1000;
    connections_per_user: u32 = 100;
    connections_per_address: u32 = 1000;
    rooms_per_subscribe: u32 = 1000;
    max_catch_up: u32 = 1000;
    catch_up_page: u32 = 100;
    page_bytes: u32 = 262_144;
    page_default: u32 = 15;
    page_max: u32 = 1000;
    batch_max: u32 = 1000;
    message_length: u32 = 10_000;
    stored_units: u32 = 30_000;
    nonce_length: u32 = 64;
    nonce_keep_ms: u64 = 604_800_000;
    files_per_message: u32 = 10;
    file_bytes: u64 = 10_485_760;
    file_name_length: u32 = 1000;
    thumbnail_bytes: u32 = 262_144;
    upload_expires_ms: u64 = 3_600_000;
    upload_keep_ms: u64 = 86_400_000;
    download_expires_ms: u64 = 86_400_000;
    mentions_per_message: u32 = 100;
    emoji_per_message: u32 = 20;
    reaction_user_ids: u32 = 10;
    poll_options: [u32; 2] = [2, 10];
    poll_question_length: u32 = 300;
    poll_label_length: u32 = 100;
    poll_voters: u32 = 100;
    followed_threads: u32 = 50;
    count_cap: u32 = 100;
    room_name_length: u32 = 100;
    topic_length: u32 = 500;
    nickname_length: u32 = 32;
    user_name_length: u32 = 100;
    biography_length: u32 = 160;
    status_length: u32 = 64;
    password_length: [u32; 2] = [8, 256];
    image_length: u32 = 2048;
    role_name_length: u32 = 100;
    roles_per_room: u32 = 250;
    filter_words: u32 = 1000;
    filter_word_length: u32 = 100;
    timeout_ms: u64 = 604_800_000;
    reason_length: u32 = 2000;
    note_length: u32 = 2000;
    webhooks_per_room: u32 = 10;
    webhook_content_length: u32 = 2000;
    webhook_embeds: u32 = 10;
    emoji_per_room: u32 = 50;
    emoji_bytes: u32 = 262_144;
    emoji_name_length: u32 = 32;
    invite_expires_in_ms: [u64; 7] = INVITE_EXPIRES_IN_MS;
    invite_max_uses: [u32; 7] = INVITE_MAX_USES;
    search_query_length: u32 = 10_000;
    search_filters: u32 = 1000;
    search_offset: u32 = 10_000;
    forward_rooms: u32 = 1000;
    jobs_per_user: u32 = 1000;
    job_text_length: u32 = 10_000;
    job_horizon_ms: u64 = 31_622_400_000;
    job_past_ms: u64 = 60_000;
    rooms_per_user: u32 = 10_000;
    dm_participants: u32 = 1000;
    friends: u32 = 1000;
    friend_requests: u32 = 1000;
    blocks: u32 = 1000;
    categories: u32 = 100;
    push_subscriptions: u32 = 50;
    rates: BTreeMap<String, Rate> = default_rates();
}

fn default_rates() -> BTreeMap<String, Rate> {
    [("standard", 1000), ("slow", 100), ("webhook", 30), ("auth", 10)]
        .map(|(name, points)| (name.to_owned(), Rate { points, per_ms: 60_000, block_ms: 60_000 }))
        .into()
}
