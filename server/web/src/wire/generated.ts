// Made from the protocol crate by `make generate`. Do not edit.
//
// An optional field of a reply or an event is left out when it is empty: false, 0, "", [], {} or none.
// In the data of a command, and in the `changes` of an event, `null` clears a field.

/** A page of a list. */
export interface Page<T> {
  /** The items; fewer than asked for says nothing about the end. */
  items?: T[];
  /** Where the next page begins. */
  nextCursor?: string;
  /** Whether there is a next page. */
  hasMore?: boolean;
}

/** A page of a search. */
export interface OffsetPage<T> {
  items?: T[];
  /** Whether there is a next page. */
  hasMore?: boolean;
  /** How many there are in all. */
  total?: number;
}

/** All items of a short list. */
export interface Items<T> {
  items?: T[];
}

/** An object, or `{}` when there is none. */
export type Maybe<T> = Partial<T>;

/** Why a room appeared. */
export type AddReason = "Created" | "Joined" | "Added" | "Opened" | "Restored";

/** The sender that a webhook stands for. */
export interface AppUser {
  /** Its id. */
  appUserId: AppUserId;
  /** The image shown. */
  image?: string;
  /** The name shown. */
  name?: string;
}

/** `appUser.get`. */
export interface AppUserGet {
  /** Whom. */
  appUserIds: AppUserId[];
  /** The room. */
  roomId: RoomId;
}

export type AppUserId = string;

/** An upload to attach. */
export interface AttachedFile {
  /** The upload. */
  fileId: FileId;
  /** Whether a thumbnail was uploaded. */
  hasThumbnail?: boolean;
}

/** The answer to register and login. */
export interface AuthReply {
  /** When the session ends. */
  expiresAt: Timestamp;
  /** The session. */
  sessionId: SessionId;
  /** The token; none when it came as a cookie. */
  token?: Secret;
  /** The account. */
  user: User;
}

/** A ban. */
export interface Ban {
  /** Who banned them. */
  bannedByUserId?: UserId;
  /** When. */
  createdAt?: Timestamp;
  /** Why. */
  reason?: string;
  /** The room. */
  roomId: RoomId;
  /** Who is banned. */
  user: User;
}

/** Live events were dropped; the room goes on from the store. */
export interface Behind {
  /** The room's head. */
  head?: number;
  /** The last entry that was delivered. */
  seq?: number;
  /** `exact` or `gap`. */
  verdict: Verdict;
}

/** `block.add`. */
export interface BlockAdd {
  /** Whom. */
  userId: UserId;
}

/** `block.list`. */
export interface BlockList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
}

/** `block.remove`. */
export interface BlockRemove {
  /** Whom. */
  userId: UserId;
}

/** What was missed, folded. */
export interface CatchUp {
  /** Whether this is the last page. */
  done?: boolean;
  /** Durable events, oldest first. */
  entries?: CatchUpEntry[];
  /** The position after this page. */
  seq?: number;
}

/** A durable event. */
export type CatchUpEntry = DurableEvent;

/** A personal folder of rooms. */
export interface Category {
  /** The folder. */
  categoryId: CategoryId;
  /** Its name. */
  name: string;
  /** Its place. */
  position?: number;
}

/** `category.create`. */
export interface CategoryCreate {
  /** The name. */
  name: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
}

/** `category.delete`. */
export interface CategoryDelete {
  /** The folder. */
  categoryId: CategoryId;
}

export type CategoryId = string;

/** `category.list`. */
export type CategoryList = Record<string, never>;

/** `category.reorder`. */
export interface CategoryReorder {
  /** The folders in their new order. */
  categoryIds: CategoryId[];
}

/** A folder. */
export interface CategoryReply {
  /** The folder. */
  category: Category;
}

/** `category.update`. */
export interface CategoryUpdate {
  /** The folder. */
  categoryId: CategoryId;
  /** Its new name. */
  name: string;
}

/** The program that a connection comes from. */
export interface ClientInfo {
  /** Its name. */
  name: string;
  /** Its version. */
  version: string;
}

export type ConnectionId = string;

/** A number. */
export interface CountReply {
  /** How many. */
  count?: number;
}

/** What a member can create. */
export type CreatableType = "Message" | "Poll";

/** A custom emoji. */
export interface CustomEmoji {
  /** When it was made. */
  createdAt: Timestamp;
  /** The emoji. */
  emojiId: EmojiId;
  /** The image's type. */
  mimetype: string;
  /** Its name. */
  name: string;
  /** Its room. */
  roomId: RoomId;
  /** The image's address; in replies only. */
  url?: string;
  /** When the address ends. */
  urlExpiresAt?: Timestamp;
  /** Who made it. */
  userId: UserId;
}

/** `dm.add`. */
export interface DmAdd {
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The direct message. */
  roomId: RoomId;
  /** Whom. */
  userIds: UserId[];
}

/** `dm.hide`. */
export interface DmHide {
  /** The direct message. */
  roomId: RoomId;
}

/** `dm.list`. */
export interface DmList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
}

/** `dm.open`. */
export interface DmOpen {
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** With whom; oneself is dropped. */
  userIds: UserId[];
}

/** `dm.remove`. */
export interface DmRemove {
  /** The direct message. */
  roomId: RoomId;
  /** Whom, or oneself. */
  userId: UserId;
}

/** `emoji.create`. */
export interface EmojiCreate {
  /** The upload. */
  emojiId: EmojiId;
  /** Its name. */
  name: EmojiName;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
}

/** `emoji.createUpload`. */
export interface EmojiCreateUpload {
  /** `image/…`. */
  mimetype: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
  /** Bytes. */
  size: number;
}

/** A custom emoji was made. */
export interface EmojiCreated {
  /** The emoji, without address. */
  emoji: CustomEmoji;
}

/** `emoji.delete`. */
export interface EmojiDelete {
  /** The emoji. */
  emojiId: EmojiId;
  /** The room. */
  roomId: RoomId;
}

/** A custom emoji was deleted. */
export interface EmojiDeleted {
  /** Which. */
  emojiId: EmojiId;
}

/** Changes of a custom emoji. */
export interface EmojiDelta {
  /** Its name. */
  name?: string;
}

export type EmojiId = string;

/** `emoji.list`. */
export interface EmojiList {
  /** The room. */
  roomId: RoomId;
}

export type EmojiName = string;

/** A custom emoji. */
export interface EmojiReply {
  /** The emoji. */
  emoji: CustomEmoji;
}

/** `emoji.update`. */
export interface EmojiUpdate {
  /** The emoji. */
  emojiId: EmojiId;
  /** Its new name. */
  name: EmojiName;
  /** The room. */
  roomId: RoomId;
}

/** A custom emoji was renamed. */
export interface EmojiUpdated {
  /** What is different. */
  changes: EmojiDelta;
  /** Which. */
  emojiId: EmojiId;
}

/** The reply to `emoji.createUpload`. */
export interface EmojiUploadReply {
  /** The emoji to be. */
  emojiId: EmojiId;
  /** When that ends. */
  expiresAt: Timestamp;
  /** The address for its bytes. */
  uploadUrl: string;
}

/** An empty object. */
export type Empty = Record<string, never>;

export type ErrorCode = "bad_request" | "unauthenticated" | "forbidden" | "not_found" | "conflict" | "payload_too_large" | "timed_out" | "read_only" | "slowmode" | "word_filtered" | "rate_limited" | "unsupported" | "unavailable" | "internal";

/** An attached file. */
export interface File {
  /** Its id. */
  fileId: FileId;
  /** One path segment. */
  filename: string;
  /** Whether a thumbnail was uploaded. */
  hasThumbnail?: boolean;
  /** The type as declared. */
  mimetype: string;
  /** Bytes, as measured. */
  size: number;
}

/** `file.createImageUpload`: an image of a user or a room. */
export interface FileCreateImageUpload {
  /** `image/…`. */
  mimetype: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId?: RoomId;
  /** Bytes. */
  size: number;
}

/** `file.createUploads`. */
export interface FileCreateUploads {
  /** The files. */
  files: FileToUpload[];
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
}

/** `file.delete`. */
export interface FileDelete {
  /** The file. */
  fileId: FileId;
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** `file.discard`. */
export interface FileDiscard {
  /** The uploads. */
  files: FileGrant[];
  /** The room. */
  roomId: RoomId;
}

/** An upload with the proof that it is the caller's. */
export interface FileGrant {
  /** The upload. */
  fileId: FileId;
  /** The proof. */
  grant: Secret;
}

export type FileId = string;

/** A file of a message, or one's own upload. */
export interface FileReference {
  /** The file. */
  fileId: FileId;
  /** The message. */
  rowKey?: RowKey;
}

/** A file to upload. */
export interface FileToUpload {
  /** One path segment. */
  filename: string;
  /** The type. */
  mimetype: string;
  /** Bytes. */
  size: number;
}

/** Where a file can be fetched. */
export interface FileUrl {
  /** When the addresses end. */
  expiresAt: Timestamp;
  /** The file. */
  fileId: FileId;
  /** The thumbnail's address. */
  thumbnailUrl?: string;
  /** Its address. */
  url: string;
}

/** `file.urls`. */
export interface FileUrls {
  /** The files. */
  files: FileReference[];
  /** The room. */
  roomId: RoomId;
}

/** The reply to `file.urls`. */
export interface FileUrlsReply {
  /** Gone ones are left out. */
  files?: FileUrl[];
}

/** The reply to `file.createUploads`. */
export interface FilesReply {
  /** In the order asked. */
  files?: Upload[];
}

/** A room's word filter. */
export interface Filter {
  /** What happens on a match. */
  action: FilterAction;
  /** The room. */
  roomId: RoomId;
  /** How long a Timeout is, in ms. */
  timeoutDurationMs?: number;
  /** When it was last changed. */
  updatedAt?: Timestamp;
  /** The words. */
  words?: FilterWord[];
}

/** What the word filter does. */
export type FilterAction = "Reject" | "Warn" | "Timeout";

/** `filter.get`. */
export interface FilterGet {
  /** The room. */
  roomId: RoomId;
}

/** The reply to `filter.get` and `filter.set`. */
export interface FilterReply {
  /** The filter. */
  filter: Filter;
}

/** `filter.set`. */
export interface FilterSet {
  /** What happens on a match; Reject by default. */
  action?: FilterAction;
  /** The room. */
  roomId: RoomId;
  /** How long a Timeout is, in ms; with Timeout, and only then. */
  timeoutDurationMs?: number;
  /** The words. */
  words: FilterWordInput[];
}

/** A word of a filter. */
export interface FilterWord {
  /** Whether it matches as a whole word only. */
  matchWholeWord?: boolean;
  /** The word. */
  word: string;
}

/** A word of a filter to set. */
export interface FilterWordInput {
  /** Whether it matches as a whole word only. */
  matchWholeWord?: boolean;
  /** The word. */
  word: string;
}

/** How a body is read. */
export type Format = "Text" | "Markdown" | "Html";

/** The reply to `message.forward`. */
export interface ForwardReply {
  /** Each room's outcome, in the order asked. */
  results?: ForwardResult[];
}

/** A target's outcome. */
export interface ForwardResult {
  /** Why there is none. */
  error?: ProtocolError;
  /** The copy. */
  message?: Message;
  /** The note. */
  note?: Message;
  /** The target. */
  roomId: RoomId;
}

/** A friend. */
export interface Friend {
  /** Since when. */
  createdAt: Timestamp;
  /** Their presence. */
  status: Status;
  /** Who. */
  user: User;
}

/** `friend.accept`. */
export interface FriendAccept {
  /** The sender. */
  userId: UserId;
}

/** `friend.cancel`. */
export interface FriendCancel {
  /** The receiver. */
  userId: UserId;
}

/** What happened between friends. */
export type FriendChange = "Requested" | "Accepted" | "Declined" | "Cancelled" | "Removed";

/** Something happened between friends. */
export interface FriendChanged {
  /** What. */
  change: FriendChange;
  /** The other party. */
  user: User;
}

/** `friend.decline`. */
export interface FriendDecline {
  /** The sender. */
  userId: UserId;
}

/** `friend.list`. */
export interface FriendList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
}

/** The reply to `friend.list`. */
export interface FriendListReply {
  /** Whether there is a next page. */
  hasMore?: boolean;
  /** Friends by name. */
  items?: Friend[];
  /** Where the next page begins. */
  nextCursor?: string;
  /** All requests; on the first page only. */
  requests?: FriendRequest[];
}

/** `friend.remove`. */
export interface FriendRemove {
  /** Whom. */
  userId: UserId;
}

/** The reply to `friend.accept`. */
export interface FriendReply {
  /** The friend. */
  friend: Friend;
}

/** A friend request, seen from one side. */
export interface FriendRequest {
  /** When it was made. */
  createdAt: Timestamp;
  /** Which way. */
  direction: FriendRequestDirection;
  /** The other party. */
  user: User;
}

/** `friend.request`: by id or by name. */
export interface FriendRequestCreate {
  /** Whom, by account name. */
  name?: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** Whom. */
  userId?: UserId;
}

/** Which way a friend request goes. */
export type FriendRequestDirection = "Incoming" | "Outgoing";

/** The reply to `friend.request`. */
export interface FriendRequestReply {
  /** The request. */
  request: FriendRequest;
}

/** The end of a room's log. */
export interface Head {
  /** Changes when the log starts anew. */
  epoch: string;
  /** The last entry. */
  seq?: number;
}

/** The reply to `session.hello`. */
export interface HelloReply {
  /** This socket. */
  connectionId: ConnectionId;
  /** The pace of pings, in ms. */
  heartbeatMs: number;
  /** Every limit a client can meet. */
  limits: Limits;
  /** The server. */
  server: ServerInfo;
  /** This log-in. */
  sessionId: SessionId;
  /** Who is logged in. */
  user: User;
}

/** The reply to `file.createImageUpload`. */
export interface ImageUploadReply {
  /** When that ends. */
  expiresAt: Timestamp;
  /** The lasting public address. */
  image: string;
  /** The address for its bytes. */
  uploadUrl: string;
}

/** An invite. */
export interface Invite {
  /** When it was made. */
  createdAt?: Timestamp;
  /** When it ends; none is never. */
  expiresAt?: Timestamp;
  /** The code. */
  inviteId: InviteId;
  /** Uses it allows; 0 is any number. */
  maxUses?: number;
  /** The room. */
  roomId: RoomId;
  /** The page's address of it, relative to the server. */
  url?: string;
  /** Who made it. */
  userId: UserId;
  /** Uses so far. */
  uses?: number;
}

/** `invite.create`: replaces one's earlier invite of the room. */
export interface InviteCreate {
  /** Lifetime in ms, one of the allowed values; 0 is for ever. */
  expiresInMs?: number;
  /** Uses, one of the allowed values; 0 is any number. */
  maxUses?: number;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
}

/** `invite.get`. */
export interface InviteGet {
  /** The code. */
  inviteId: InviteId;
}

/** The reply to `invite.get`. */
export interface InviteGetReply {
  /** The invite. */
  invite: Invite;
  /** Whether the caller is in it already. */
  isMember?: boolean;
  /** Its room. */
  room: InviteRoom;
}

export type InviteId = string;

/** `invite.join`. */
export interface InviteJoin {
  /** The code. */
  inviteId: InviteId;
  /** Makes a repeat safe. */
  nonce?: Nonce;
}

/** `invite.list`. */
export interface InviteList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
}

/** `invite.mine`. */
export interface InviteMine {
  /** The room. */
  roomId: RoomId;
}

/** The reply to `invite.create` and `invite.mine`. */
export interface InviteReply {
  /** The invite. */
  invite: Invite;
}

/** `invite.revoke`. */
export interface InviteRevoke {
  /** The code. */
  inviteId: InviteId;
  /** The room. */
  roomId: RoomId;
}

/** What an invite tells of its room. */
export interface InviteRoom {
  /** Its image. */
  image?: string;
  /** How many are in it. */
  memberCount?: number;
  /** Its name. */
  name?: string;
  /** The room. */
  roomId: RoomId;
  /** Its topic. */
  topic?: string;
}

/** A scheduled message or reminder. */
export interface Job {
  /** Tries so far. */
  attempts?: number;
  /** When it was cancelled. */
  cancelledAt?: Timestamp;
  /** When it was posted. */
  completedAt?: Timestamp;
  /** When it was made. */
  createdAt?: Timestamp;
  /** When it gave up. */
  failedAt?: Timestamp;
  /** The job. */
  jobId: JobId;
  /** Why the last try failed. */
  lastError?: JobError;
  /** What it does. */
  payload: JobPayload;
  /** The room. */
  roomId: RoomId;
  /** The posted message. */
  rowKey?: RowKey;
  /** When. */
  runAt: Timestamp;
  /** Where it stands. */
  state: JobState;
  /** When it was last changed. */
  updatedAt?: Timestamp;
  /** Whose. */
  userId: UserId;
}

/** Why a job's last try failed. */
export interface JobError {
  /** The error code. */
  code: string;
  /** For people. */
  message: string;
}

export type JobId = string;

/** A job and its room. */
export interface JobInRoom {
  /** The job. */
  job: Job;
  /** Its room. */
  room: Room;
}

/** What a job does when its time has come. */
export type JobPayload = { text: string; type: "Reminder" } | { format: Format; message: string; replyRowKey?: RowKey; type: "ScheduledMessage" };

/** A job. */
export interface JobReply {
  /** The job. */
  job: Job;
}

/** Where a job stands. */
export type JobState = "Active" | "Claimed" | "Completed" | "Cancelled";

/** A job changed. */
export interface JobUpdated {
  /** The job. */
  job: Job;
}

/** How a membership ended. */
export type LeaveReason = "Left" | "Kicked" | "Banned" | "Removed";

/** The `limits` of the hello reply. One that is absent has its default. */
export interface Limits {
  /** `batch_max` of the protocol's table of limits. */
  batchMax: number;
  /** `biography_length` of the protocol's table of limits. */
  biographyLength: number;
  /** `blocks` of the protocol's table of limits. */
  blocks: number;
  /** `catch_up_page` of the protocol's table of limits. */
  catchUpPage: number;
  /** `categories` of the protocol's table of limits. */
  categories: number;
  /** `commands_in_flight` of the protocol's table of limits. */
  commandsInFlight: number;
  /** `connections_per_address` of the protocol's table of limits. */
  connectionsPerAddress: number;
  /** `connections_per_user` of the protocol's table of limits. */
  connectionsPerUser: number;
  /** `count_cap` of the protocol's table of limits. */
  countCap: number;
  /** `dm_participants` of the protocol's table of limits. */
  dmParticipants: number;
  /** `download_expires_ms` of the protocol's table of limits. */
  downloadExpiresMs: number;
  /** `emoji_bytes` of the protocol's table of limits. */
  emojiBytes: number;
  /** `emoji_name_length` of the protocol's table of limits. */
  emojiNameLength: number;
  /** `emoji_per_message` of the protocol's table of limits. */
  emojiPerMessage: number;
  /** `emoji_per_room` of the protocol's table of limits. */
  emojiPerRoom: number;
  /** `file_bytes` of the protocol's table of limits. */
  fileBytes: number;
  /** `file_name_length` of the protocol's table of limits. */
  fileNameLength: number;
  /** `files_per_message` of the protocol's table of limits. */
  filesPerMessage: number;
  /** `filter_word_length` of the protocol's table of limits. */
  filterWordLength: number;
  /** `filter_words` of the protocol's table of limits. */
  filterWords: number;
  /** `followed_threads` of the protocol's table of limits. */
  followedThreads: number;
  /** `forward_rooms` of the protocol's table of limits. */
  forwardRooms: number;
  /** `frame_burst` of the protocol's table of limits. */
  frameBurst: number;
  /** `frame_bytes` of the protocol's table of limits. */
  frameBytes: number;
  /** `frames_per_second` of the protocol's table of limits. */
  framesPerSecond: number;
  /** `friend_requests` of the protocol's table of limits. */
  friendRequests: number;
  /** `friends` of the protocol's table of limits. */
  friends: number;
  /** `hello_timeout_ms` of the protocol's table of limits. */
  helloTimeoutMs: number;
  /** `http_body_bytes` of the protocol's table of limits. */
  httpBodyBytes: number;
  /** `image_length` of the protocol's table of limits. */
  imageLength: number;
  /** `invite_expires_in_ms` of the protocol's table of limits. */
  inviteExpiresInMs: number[];
  /** `invite_max_uses` of the protocol's table of limits. */
  inviteMaxUses: number[];
  /** `job_horizon_ms` of the protocol's table of limits. */
  jobHorizonMs: number;
  /** `job_past_ms` of the protocol's table of limits. */
  jobPastMs: number;
  /** `job_text_length` of the protocol's table of limits. */
  jobTextLength: number;
  /** `jobs_per_user` of the protocol's table of limits. */
  jobsPerUser: number;
  /** `max_catch_up` of the protocol's table of limits. */
  maxCatchUp: number;
  /** `mentions_per_message` of the protocol's table of limits. */
  mentionsPerMessage: number;
  /** `message_length` of the protocol's table of limits. */
  messageLength: number;
  /** `nickname_length` of the protocol's table of limits. */
  nicknameLength: number;
  /** `nonce_keep_ms` of the protocol's table of limits. */
  nonceKeepMs: number;
  /** `nonce_length` of the protocol's table of limits. */
  nonceLength: number;
  /** `note_length` of the protocol's table of limits. */
  noteLength: number;
  /** `page_bytes` of the protocol's table of limits. */
  pageBytes: number;
  /** `page_default` of the protocol's table of limits. */
  pageDefault: number;
  /** `page_max` of the protocol's table of limits. */
  pageMax: number;
  /** `password_length` of the protocol's table of limits. */
  passwordLength: number[];
  /** `poll_label_length` of the protocol's table of limits. */
  pollLabelLength: number;
  /** `poll_options` of the protocol's table of limits. */
  pollOptions: number[];
  /** `poll_question_length` of the protocol's table of limits. */
  pollQuestionLength: number;
  /** `poll_voters` of the protocol's table of limits. */
  pollVoters: number;
  /** `pre_hello_frame_bytes` of the protocol's table of limits. */
  preHelloFrameBytes: number;
  /** `push_subscriptions` of the protocol's table of limits. */
  pushSubscriptions: number;
  /** `rates` of the protocol's table of limits. */
  rates: Record<string, Rate>;
  /** `reaction_user_ids` of the protocol's table of limits. */
  reactionUserIds: number;
  /** `reason_length` of the protocol's table of limits. */
  reasonLength: number;
  /** `role_name_length` of the protocol's table of limits. */
  roleNameLength: number;
  /** `roles_per_room` of the protocol's table of limits. */
  rolesPerRoom: number;
  /** `room_name_length` of the protocol's table of limits. */
  roomNameLength: number;
  /** `rooms_per_subscribe` of the protocol's table of limits. */
  roomsPerSubscribe: number;
  /** `rooms_per_user` of the protocol's table of limits. */
  roomsPerUser: number;
  /** `search_filters` of the protocol's table of limits. */
  searchFilters: number;
  /** `search_offset` of the protocol's table of limits. */
  searchOffset: number;
  /** `search_query_length` of the protocol's table of limits. */
  searchQueryLength: number;
  /** `status_length` of the protocol's table of limits. */
  statusLength: number;
  /** `stored_units` of the protocol's table of limits. */
  storedUnits: number;
  /** `thumbnail_bytes` of the protocol's table of limits. */
  thumbnailBytes: number;
  /** `timeout_ms` of the protocol's table of limits. */
  timeoutMs: number;
  /** `topic_length` of the protocol's table of limits. */
  topicLength: number;
  /** `upload_expires_ms` of the protocol's table of limits. */
  uploadExpiresMs: number;
  /** `upload_keep_ms` of the protocol's table of limits. */
  uploadKeepMs: number;
  /** `user_name_length` of the protocol's table of limits. */
  userNameLength: number;
  /** `webhook_content_length` of the protocol's table of limits. */
  webhookContentLength: number;
  /** `webhook_embeds` of the protocol's table of limits. */
  webhookEmbeds: number;
  /** `webhooks_per_room` of the protocol's table of limits. */
  webhooksPerRoom: number;
}

/** What a link shows of its target. */
export interface LinkPreview {
  /** The MIME type. */
  contentType?: string;
  /** The description. */
  description?: string;
  /** Icon addresses. */
  favicons?: string[];
  /** Image addresses. */
  images?: string[];
  /** `website`, `image`, …. */
  mediaType?: string;
  /** The site. */
  siteName?: string;
  /** The title. */
  title?: string;
  /** The address. */
  url: string;
  /** Videos. */
  videos?: LinkPreviewVideo[];
}

/** A video of a link preview. */
export interface LinkPreviewVideo {
  /** Pixels. */
  height?: number;
  /** The address under https. */
  secureUrl?: string;
  /** The MIME type. */
  type?: string;
  /** The address. */
  url: string;
  /** Pixels. */
  width?: number;
}

export type LogEntryId = string;

/** `POST /v1/auth/login`. */
export interface Login {
  /** Whether the token comes as a cookie. */
  cookie?: boolean;
  /** The account name. */
  name: string;
  /** The password. */
  password: Secret;
}

/** A member as others see them. */
export interface Member {
  /** When they joined. */
  createdAt?: Timestamp;
  /** The name shown here. */
  nickname?: string;
  /** Assigned roles. */
  roleIds?: RoleId[];
  /** Until when the member may not write. */
  timeoutUntil?: Timestamp;
  /** The account. */
  user: User;
  /** Who. */
  userId: UserId;
}

/** Changes of a member: absent is unchanged, `null` is cleared. */
export interface MemberDelta {
  /** The name shown here. */
  nickname?: string | null;
  /** Until when they may not write. */
  timeoutUntil?: Timestamp | null;
}

/** Somebody joined. */
export interface MemberJoined {
  /** Who added them. */
  byUserId?: UserId;
  /** Who. */
  member: Member;
}

/** Somebody left. */
export interface MemberLeft {
  /** Who ended it. */
  byUserId?: UserId;
  /** How. */
  reason: LeaveReason;
  /** Who. */
  userId: UserId;
}

/** The roles of a member. */
export interface MemberRoles {
  /** Assigned roles. */
  roleIds?: RoleId[];
  /** Who. */
  userId: UserId;
}

/** A member was changed. */
export interface MemberUpdated {
  /** What is different. */
  changes: MemberDelta;
  /** Who. */
  userId: UserId;
}

/** One's own membership. */
export interface Membership {
  /** The personal folder. */
  categoryId?: CategoryId;
  /** When one joined. */
  createdAt?: Timestamp;
  /** Whether a direct message is hidden. */
  isHidden?: boolean;
  /** The slowmode clock. */
  lastMessageAt?: Timestamp;
  /** The read marker. */
  lastReadAt?: Timestamp;
  /** Mentions after marker and last clearing, at most 100. */
  mentionCount?: number;
  /** The name shown here. */
  nickname?: string;
  /** What notifies. */
  notificationType?: NotificationType;
  /** The room. */
  roomId: RoomId;
  /** Until when the member may not write. */
  timeoutUntil?: Timestamp;
  /** Messages by others after the marker, at most 100. */
  unreadCount?: number;
  /** The member. */
  userId: UserId;
}

/** `membership.clearMentions`. */
export interface MembershipClearMentions {
  /** The room. */
  roomId: RoomId;
}

/** `membership.get`. */
export interface MembershipGet {
  /** The rooms; the caller is a member of all. */
  roomIds: RoomId[];
}

/** The reply to `membership.clearMentions`. */
export interface MembershipReply {
  /** One's own membership. */
  membership: Membership;
}

/** `membership.update`: one's own settings, or another's nickname alone. */
export interface MembershipUpdate {
  /** The personal folder. */
  categoryId?: CategoryId | null;
  /** The read marker; may go back, the future is now. */
  lastReadAt?: Timestamp;
  /** The name shown here. */
  nickname?: string | null;
  /** What notifies. */
  notificationType?: NotificationType;
  /** The room. */
  roomId: RoomId;
  /** Another member. */
  userId?: UserId;
}

/** The reply to `membership.update`: `membership` when one's own, else `member`. */
export interface MembershipUpdateReply {
  /** Another's. */
  member?: Member;
  /** One's own. */
  membership?: Membership;
}

/** One's own membership was changed. */
export interface MembershipUpdated {
  /** The membership. */
  membership: Membership;
}

/** A message. `(roomId, rowKey)` is its identity; `rev` orders its states. */
export interface Message {
  /** The sender that a webhook shows. */
  appUser?: MessageAppUser;
  /** The `rev` of the last change of its body. */
  bodyRev: number;
  /** When it was stored. */
  createdAt: Timestamp;
  /** Attached files. */
  files?: File[];
  /** Set by edit, file and preview deletion. */
  isEdited?: boolean;
  /** A copy of a message of another room. */
  isForward?: boolean;
  /** Pinned to the room. */
  isPinned?: boolean;
  /** What the first link shows. */
  linkPreview?: LinkPreview;
  /** Distinct ids in the order of the text: user ids, role ids, `@everyone`, `@here`. */
  mentions?: string[];
  /** Sanitised HTML for Message and Webhook, plain text otherwise. */
  message?: string;
  /** What the reader did; in replies only. */
  mine?: Mine;
  /** The author's nonce. */
  nonce?: Nonce;
  /** The poll of a Poll. */
  poll?: Poll;
  /** Reactions, first come first. */
  reactions?: Reaction[];
  /** Live replies; in replies only. */
  replyCount?: number;
  /** The message that this one answers, or that a server line is about. */
  replyRowKey?: RowKey;
  /** 1 at creation, one more with every change of any kind. */
  rev: number;
  /** The room. */
  roomId: RoomId;
  /** The place in the room. */
  rowKey: RowKey;
  /** The position of its creation in the room's log. */
  seq: number;
  /** The kind of message. */
  type: MessageType;
  /** When body, files, preview or pin were last changed. */
  updatedAt: Timestamp;
  /** The author; none for Webhook. */
  userId?: UserId;
}

/** The sender of a webhook's message, as that call showed it. */
export interface MessageAppUser {
  /** Its id. */
  id: AppUserId;
  /** The image shown. */
  image?: string;
  /** The name shown. */
  name?: string;
}

export type MessageChange = Message | MessageDelta;

/** A message was stored. */
export interface MessageCreated {
  /** The message, without `mine`. */
  message: Message;
}

/** `message.delete`. */
export interface MessageDelete {
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** A message was deleted: final. */
export interface MessageDeleted {
  /** Its revision after the change. */
  rev: number;
  /** Which. */
  rowKey: RowKey;
}

/** What a change made different: absent is unchanged, `null` is cleared. */
export interface MessageDelta {
  /** The `rev` of the body. */
  bodyRev?: number;
  /** The files. */
  files?: File[];
  /** Whether it was edited. */
  isEdited?: boolean;
  /** Whether it is pinned. */
  isPinned?: boolean;
  /** The link preview. */
  linkPreview?: LinkPreview | null;
  /** The mentions. */
  mentions?: string[];
  /** The body. */
  message?: string;
  /** When it was changed. */
  updatedAt?: Timestamp;
}

/** `message.edit`. */
export interface MessageEdit {
  /** How the body is read; Text by default. */
  format?: Format;
  /** The new body. */
  message: string;
  /** The state that was edited; `conflict` when the body changed after it. */
  rev?: number;
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** `message.forward`. */
export interface MessageForward {
  /** How the note is read; Text by default. */
  format?: Format;
  /** A note that follows the copy. */
  message?: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The source's room. */
  roomId: RoomId;
  /** The targets. */
  roomIds: RoomId[];
  /** The message. */
  rowKey: RowKey;
}

/** `message.get`. */
export interface MessageGet {
  /** The room. */
  roomId: RoomId;
  /** The messages. */
  rowKeys: RowKey[];
}

/** The reply to `message.get`. */
export interface MessageGetReply {
  /** The room's `seq` before the rows were read. */
  asOf?: number;
  /** Newest first. */
  items?: Message[];
  /** Not looked at: ask again. */
  rest?: RowKey[];
}

/** `message.list`. */
export interface MessageList {
  /** A message to read around; alone with `limit`. */
  around?: RowKey;
  /** Any position. */
  cursor?: RowKey;
  /** Whether the message at the cursor is part of the page. */
  includeCursor?: boolean;
  /** Pinned ones only. */
  isPinned?: boolean;
  /** Most items wanted. */
  limit?: number;
  /** Newest first by default. */
  order?: Order;
  /** The room. */
  roomId: RoomId;
}

/** The reply to `message.list`. */
export interface MessageListReply {
  /** The room's `seq` before the rows were read. */
  asOf?: number;
  /** Whether there is a next page. */
  hasMore?: boolean;
  /** With `around`: whether there is a newer page. */
  hasMoreNewer?: boolean;
  /** The messages. */
  items?: Message[];
  /** Where the next page begins. */
  nextCursor?: string;
  /** With `around`: where the newer page begins. */
  prevCursor?: string;
}

/** `message.pin`. */
export interface MessagePin {
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** Messages were purged: final for each. */
export interface MessagePurged {
  /** Which; 1 to 100. */
  rowKeys: RowKey[];
}

/** A message. */
export interface MessageReply {
  /** The message. */
  message: Message;
}

/** `message.search`. */
export interface MessageSearch {
  /** Filters. */
  filters?: SearchFilter[];
  /** Most items wanted. */
  limit?: number;
  /** Items to skip. */
  offset?: number;
  /** Newest first by default. */
  order?: Order;
  /** Words. */
  query?: string;
  /** The room. */
  roomId: RoomId;
  /** Where days begin; UTC by default. */
  timeZone?: string;
}

/** The reply to `message.search`. */
export interface MessageSearchReply {
  /** Each room's `seq` before the rows were read. */
  asOf?: Record<string, number>;
  /** Whether there are more. */
  hasMore?: boolean;
  /** The messages. */
  items?: Message[];
  /** How many there are in all. */
  total?: number;
}

/** `message.send`. */
export interface MessageSend {
  /** One's own uploads of this room. */
  files?: AttachedFile[];
  /** How the body is read; Text by default. */
  format?: Format;
  /** The body. */
  message?: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The poll; Poll only. */
  poll?: PollInput;
  /** The message that this one answers. */
  replyRowKey?: RowKey;
  /** The room. */
  roomId: RoomId;
  /** Message by default. */
  type?: CreatableType;
}

/** `message.sent`: one's own messages. */
export interface MessageSent {
  /** Most items wanted. */
  limit?: number;
  /** Items to skip. */
  offset?: number;
}

/** `message.thread`: the replies to a message. */
export interface MessageThread {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
  /** The root. */
  rowKey: RowKey;
}

/** The reply to `message.thread`. */
export interface MessageThreadReply {
  /** The room's `seq` before the rows were read. */
  asOf?: number;
  /** Whether there is a next page. */
  hasMore?: boolean;
  /** Replies, newest first. */
  items?: Message[];
  /** Where the next page begins. */
  nextCursor?: string;
  /** The root; none when deleted. */
  root?: Message;
}

/** The kind of a message. */
export type MessageType = "Message" | "Poll" | "Webhook" | "System" | "EditRoom" | "PinMessage" | "Call";

/** `message.unpin`. */
export interface MessageUnpin {
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** A message was changed. */
export interface MessageUpdated {
  /** What is different. */
  changes: MessageChange;
  /** Its revision after the change. */
  rev: number;
  /** Which. */
  rowKey: RowKey;
}

/** The coarse kind of a file. */
export type MimeCategory = "Audio" | "Document" | "Image" | "Video";

/** What the reader did with a message. */
export interface Mine {
  /** Own vote. */
  optionId?: OptionId;
  /** Own reactions. */
  reactions?: string[];
}

/** A moderator, or the word filter, acted on the receiver. */
export interface ModerationActed {
  /** For how long, in ms. */
  durationMs?: number;
  /** Why. */
  reason?: string;
  /** Where. */
  roomId: RoomId;
  /** What was done. */
  type: ModerationAction;
}

/** What a moderator did. */
export type ModerationAction = "KickFromRoom" | "TimeoutUser" | "CreateBan" | "SoftBan" | "Warn" | "ForceMute" | "ForceUnmute" | "StopScreenShare" | "KickFromCall" | "DeleteBan";

/** `moderation.bans`. */
export interface ModerationBans {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** Part of the name. */
  query?: string;
  /** The room. */
  roomId: RoomId;
}

/** `moderation.execute`. */
export interface ModerationExecute {
  /** The length of a timeout, in ms; with TimeoutUser only. */
  durationMs?: number;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** Why. */
  reason?: string;
  /** The room. */
  roomId: RoomId;
  /** What to do. */
  type: ModerationAction;
  /** The target. */
  userId: UserId;
}

/** `moderation.log`. */
export interface ModerationLog {
  /** By whom. */
  actorUserId?: UserId;
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
  /** To whom. */
  targetUserId?: UserId;
  /** What. */
  type?: ModerationAction;
}

/** An entry of the moderation log. */
export interface ModerationLogEntry {
  /** By whom. */
  actorUserId: UserId;
  /** When. */
  createdAt?: Timestamp;
  /** For how long, in ms. */
  durationMs?: number;
  /** The entry. */
  id: LogEntryId;
  /** Why. */
  reason?: string;
  /** The room. */
  roomId: RoomId;
  /** To whom. */
  targetUserId: UserId;
  /** What was done. */
  type: ModerationAction;
}

/** The reply to `moderation.execute`. */
export interface ModerationReply {
  /** What was done. */
  entry: ModerationLogEntry;
}

/** `moderation.unban`. */
export interface ModerationUnban {
  /** The room. */
  roomId: RoomId;
  /** Who. */
  userId: UserId;
}

export type Nonce = string;

/** A moderator's note about a member. */
export interface Note {
  /** By whom. */
  actorUserId: UserId;
  /** When. */
  createdAt: Timestamp;
  /** The note. */
  id: LogEntryId;
  /** Its text. */
  note: string;
  /** The room. */
  roomId: RoomId;
  /** About whom. */
  targetUserId: UserId;
}

/** `note.count`. */
export interface NoteCount {
  /** The room. */
  roomId: RoomId;
  /** About whom. */
  userId: UserId;
}

/** `note.create`. */
export interface NoteCreate {
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The text. */
  note: string;
  /** The room. */
  roomId: RoomId;
  /** About whom. */
  userId: UserId;
}

/** `note.list`. */
export interface NoteList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
  /** About whom. */
  userId: UserId;
}

/** The reply to `note.create`. */
export interface NoteReply {
  /** The note. */
  note: Note;
}

/** What notifies: everything, mentions only (`DirectMessage`), nothing. */
export type NotificationType = "All" | "DirectMessage" | "Never";

export type OptionId = string;

/** The direction of a message list. */
export type Order = "Desc" | "Asc";

export type Password = string;

/** `POST /v1/auth/password`. */
export interface PasswordChange {
  /** The one from now on. */
  newPassword: Password;
  /** The present password. */
  password: Secret;
}

export type Permissions = string;

/** The reply to `session.ping`. */
export interface PingReply {
  /** Subscribed rooms whose head changed since the last answer. */
  heads?: Record<string, number>;
  /** The server's clock. */
  time: Timestamp;
}

/** A question with its options and votes. */
export interface Poll {
  /** The options, in order. */
  options: PollOption[];
  /** The question. */
  question: string;
  /** Present up to 100 voters. */
  votes?: Record<string, OptionId>;
}

/** A poll to create. */
export interface PollInput {
  /** The options. */
  options: PollOptionInput[];
  /** The question. */
  question: string;
}

/** An option of a poll. */
export interface PollOption {
  /** Votes for it. */
  count?: number;
  /** Its id. */
  id: OptionId;
  /** Its text. */
  label: string;
}

/** An option of a poll to create. */
export interface PollOptionInput {
  /** Its id; made by the server when absent. */
  id?: OptionId;
  /** Its text. */
  label: string;
}

/** The votes of one option. */
export interface PollTally {
  /** Votes for it. */
  count?: number;
  /** The option. */
  id: OptionId;
}

/** `poll.vote`. */
export interface PollVote {
  /** The option; `null` withdraws. */
  optionId?: OptionId | null;
  /** The room. */
  roomId: RoomId;
  /** The poll. */
  rowKey: RowKey;
}

/** The reply to `poll.vote`. */
export interface PollVoteReply {
  /** One's own vote. */
  mine?: Mine;
  /** The poll. */
  poll: Poll;
  /** The message's revision. */
  rev?: number;
}

/** A vote was given, moved or withdrawn. */
export interface PollVoted {
  /** For what; none is withdrawn. */
  optionId?: OptionId;
  /** The tallies after it. */
  options?: PollTally[];
  /** Its revision after the change. */
  rev: number;
  /** The poll. */
  rowKey: RowKey;
  /** Who voted. */
  userId: UserId;
}

/** A position in a room's log. */
export interface Position {
  /** The log's epoch. */
  epoch: string;
  /** The last entry that is known. */
  seq: number;
}

/** Presence: the override until it expires, else by connection. */
export type PresenceStatus = "Online" | "Idle" | "DoNotDisturb" | "Offline";

/** `preview.delete`. */
export interface PreviewDelete {
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** The error object of a reply, an HTTP answer, or one room of several. */
export interface ProtocolError {
  /** What went wrong; clients decide by it. */
  code: ErrorCode;
  /** JSON pointer into the command's `data`. */
  field?: string;
  /** For people; never parsed. */
  message: string;
  /** Names this answer in the server's log. */
  requestId?: string;
  /** How long to wait, in milliseconds. */
  retryAfterMs?: number;
  /** The deleted message that a nonce belongs to. */
  rowKey?: RowKey;
}

/** `push.key`. */
export type PushKey = Record<string, never>;

/** The reply to `push.key`. */
export interface PushKeyReply {
  /** The VAPID key, base64url. */
  publicKey: string;
}

/** The keys of a push address. */
export interface PushKeys {
  /** The authentication secret, base64url. */
  auth: Secret;
  /** The public key, base64url. */
  p256dh: Secret;
}

/** `push.list`. */
export type PushList = Record<string, never>;

/** `push.subscribe`. */
export interface PushSubscribe {
  /** An https address. */
  endpoint: string;
  /** When it ends. */
  expirationTime?: Timestamp | null;
  /** The browser's keys. */
  keys: PushKeys;
}

/** A web push address. */
export interface PushSubscription {
  /** When it was made. */
  createdAt: Timestamp;
  /** Where pushes go. */
  endpoint: string;
  /** When it ends. */
  expirationTime?: Timestamp;
}

/** The reply to `push.subscribe`. */
export interface PushSubscriptionReply {
  /** The subscription. */
  subscription: PushSubscription;
}

/** `push.unsubscribe`. */
export interface PushUnsubscribe {
  /** The address. */
  endpoint: string;
}

/** A budget of commands: `points` per `perMs`, then refused for `blockMs`. */
export interface Rate {
  /** How long one is refused after that, in ms. */
  blockMs: number;
  /** The window, in ms. */
  perMs: number;
  /** Commands in a window. */
  points: number;
}

/** Who reacted with one emoji. */
export interface Reaction {
  /** How many. */
  count?: number;
  /** The emoji. */
  emoji: string;
  /** At most 10, first come first. */
  userIds?: UserId[];
}

/** `reaction.add`. */
export interface ReactionAdd {
  /** The emoji. */
  emoji: string;
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** A reaction was added or removed; replaces the reaction of that emoji. */
export interface ReactionChanged {
  /** How many after it; none is gone. */
  count?: number;
  /** The emoji. */
  emoji: string;
  /** Its revision after the change. */
  rev: number;
  /** The message. */
  rowKey: RowKey;
  /** Who did it. */
  userId: UserId;
  /** Who, at most 10. */
  userIds?: UserId[];
}

/** Who reacted, with what, when. */
export interface ReactionEntry {
  /** When. */
  createdAt: Timestamp;
  /** The emoji. */
  emoji: string;
  /** Who. */
  userId: UserId;
}

/** `reaction.list`. */
export interface ReactionList {
  /** Where the page begins. */
  cursor?: string;
  /** One emoji only. */
  emoji?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** `reaction.remove`. */
export interface ReactionRemove {
  /** The emoji. */
  emoji: string;
  /** The room. */
  roomId: RoomId;
  /** The message. */
  rowKey: RowKey;
}

/** The reply to `reaction.add` and `reaction.remove`. */
export interface ReactionReply {
  /** The reaction after it. */
  reaction: Reaction;
  /** The message's revision. */
  rev?: number;
}

/** The reply to `session.refresh`. */
export interface RefreshReply {
  /** When it ends. */
  expiresAt?: Timestamp;
  /** The session of the new token. */
  sessionId: SessionId;
}

/** The answer to `POST /v1/auth/refresh`: the same session, a new token. */
export interface RefreshedToken {
  /** When the session ends. */
  expiresAt: Timestamp;
  /** The session. */
  sessionId: SessionId;
  /** The token; none when it came as a cookie. */
  token?: Secret;
}

/** `POST /v1/auth/register`. */
export interface Register {
  /** Whether the token comes as a cookie. */
  cookie?: boolean;
  /** Opens registration where it needs an invite; does not join the invite's room. */
  invite?: InviteId;
  /** The account name. */
  name: string;
  /** The password. */
  password: Password;
}

/** Why a room vanished. */
export type RemoveReason = "Left" | "Kicked" | "Banned" | "Deleted" | "Hidden";

/** The `rev` that a change made. */
export interface RevReply {
  /** The message's revision. */
  rev?: number;
}

/** A role of a room. */
export interface Role {
  /** Its colour. */
  color?: string;
  /** When it was made. */
  createdAt?: Timestamp;
  /** The role that all members have. */
  isEveryone?: boolean;
  /** Its name. */
  name?: string;
  /** What it grants. */
  permissions?: Permissions;
  /** Higher has more authority. */
  position?: number;
  /** The role. */
  roleId: RoleId;
  /** Its room. */
  roomId: RoomId;
  /** When it was last changed. */
  updatedAt?: Timestamp;
}

/** `role.assign`. */
export interface RoleAssign {
  /** The role. */
  roleId: RoleId;
  /** The room. */
  roomId: RoomId;
  /** To whom. */
  userId: UserId;
}

/** A role was assigned or revoked. */
export interface RoleAssignment {
  /** Which. */
  roleId: RoleId;
  /** Whose. */
  userId: UserId;
}

/** `role.create`. */
export interface RoleCreate {
  /** The colour. */
  color?: string;
  /** The name. */
  name: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** What it grants; nothing by default. */
  permissions?: Permissions;
  /** Higher has more authority; 0 by default. */
  position?: number;
  /** The room. */
  roomId: RoomId;
}

/** A role was made. */
export interface RoleCreated {
  /** The role. */
  role: Role;
}

/** `role.delete`. */
export interface RoleDelete {
  /** The role. */
  roleId: RoleId;
  /** The room. */
  roomId: RoomId;
}

/** A role was deleted. */
export interface RoleDeleted {
  /** Which. */
  roleId: RoleId;
}

/** Changes of a role: absent is unchanged, `null` is cleared. */
export interface RoleDelta {
  /** Its colour. */
  color?: string | null;
  /** Its name. */
  name?: string;
  /** What it grants. */
  permissions?: Permissions;
  /** Its place. */
  position?: number;
  /** When it was changed. */
  updatedAt?: Timestamp;
}

export type RoleId = string;

/** `role.list`. */
export interface RoleList {
  /** The rooms; the caller is a member of all. */
  roomIds: RoomId[];
}

/** `role.members`. */
export interface RoleMembers {
  /** The room. */
  roomId: RoomId;
  /** Whose roles. */
  userIds: UserId[];
}

/** `role.permissions`. */
export interface RolePermissions {
  /** The rooms. */
  roomIds: RoomId[];
}

/** A role. */
export interface RoleReply {
  /** The role. */
  role: Role;
}

/** `role.revoke`. */
export interface RoleRevoke {
  /** The role. */
  roleId: RoleId;
  /** The room. */
  roomId: RoomId;
  /** From whom. */
  userId: UserId;
}

/** What a caller may do in a room. */
export interface RoleSummary {
  /** Whether they own it. */
  isRoomOwner?: boolean;
  /** Effective bits. */
  permissions?: Permissions;
  /** The room. */
  roomId: RoomId;
  /** The highest role's position; −1 without a role. */
  topRolePosition?: number;
}

/** `role.update`: at least one field. */
export interface RoleUpdate {
  /** The colour. */
  color?: string | null;
  /** The name. */
  name?: string;
  /** What it grants. */
  permissions?: Permissions;
  /** Its place. */
  position?: number;
  /** The role. */
  roleId: RoleId;
  /** The room. */
  roomId: RoomId;
}

/** A role was changed. */
export interface RoleUpdated {
  /** What is different. */
  changes: RoleDelta;
  /** Which. */
  roleId: RoleId;
}

/** A room's settings. */
export interface Room {
  /** Kinds of files that are accepted; always present. */
  allowedMimeCategories?: MimeCategory[];
  /** When it was made. */
  createdAt?: Timestamp;
  /** Image address. */
  image?: string;
  /** Whether invites are out of use. */
  isInvitePaused?: boolean;
  /** Whether only ManageMessages may write. */
  isReadOnly?: boolean;
  /** The last message, else the creation; in replies only. */
  lastActivityAt?: Timestamp;
  /** Largest file in bytes; none is the server's limit. */
  maxFileSizeBytes?: number;
  /** The name; empty for a direct message. */
  name?: string;
  /** The room. */
  roomId: RoomId;
  /** Time between two sends of a member, in ms; none is off. */
  slowmodeMs?: number;
  /** The topic. */
  topic?: string;
  /** Room or direct message. */
  type: RoomType;
  /** When settings were last changed. */
  updatedAt?: Timestamp;
  /** The owner; none for a direct message. */
  userId?: UserId;
}

/** A room appeared: a view and the reason. */
export interface RoomAdded {
  /** The end of its log. */
  head?: Head;
  /** Whether one owns it. */
  isRoomOwner?: boolean;
  /** One's own membership. */
  membership: Membership;
  /** How many others. */
  participantCount?: number;
  /** The first 10 others of a direct message. */
  participants?: User[];
  /** What one may do. */
  permissions?: Permissions;
  /** Why. */
  reason: AddReason;
  /** Its settings. */
  room: Room;
  /** The highest role's position; −1 without a role. */
  topRolePosition?: number;
}

/** `room.create`. */
export interface RoomCreate {
  /** Image address. */
  image?: string;
  /** Whether only ManageMessages may write. */
  isReadOnly?: boolean;
  /** The name. */
  name: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** Time between two sends of a member, in ms. */
  slowmodeMs?: number;
  /** The topic. */
  topic?: string;
}

/** `room.delete`. */
export interface RoomDelete {
  /** The room. */
  roomId: RoomId;
}

/** The room is gone. */
export interface RoomDeleted {
  /** By whom. */
  userId: UserId;
}

/** Changed settings: absent is unchanged, `null` is cleared. */
export interface RoomDelta {
  /** Kinds of files that are accepted. */
  allowedMimeCategories?: MimeCategory[];
  /** Image address. */
  image?: string | null;
  /** Whether invites are out of use. */
  isInvitePaused?: boolean;
  /** Whether only ManageMessages may write. */
  isReadOnly?: boolean;
  /** Largest file in bytes. */
  maxFileSizeBytes?: number | null;
  /** The name. */
  name?: string;
  /** Time between two sends of a member, in ms. */
  slowmodeMs?: number | null;
  /** The topic. */
  topic?: string | null;
  /** When settings were last changed. */
  updatedAt?: Timestamp;
}

/** `room.get`: a room, or the latest active one. */
export interface RoomGet {
  /** The room. */
  roomId?: RoomId;
}

export type RoomId = string;

/** `room.leave`. */
export interface RoomLeave {
  /** The room. */
  roomId: RoomId;
}

/** `room.list`. */
export interface RoomList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The order; Activity by default. */
  order?: RoomOrder;
  /** Part of the name. */
  query?: string;
  /** Appended when the page lacks it. */
  roomId?: RoomId;
}

/** `room.members`, by join time. */
export interface RoomMembers {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** Part of the name or nickname. */
  query?: string;
  /** The room. */
  roomId: RoomId;
  /** Only these. */
  userIds?: UserId[];
}

/** The order of a room list. */
export type RoomOrder = "Activity" | "Id";

/** A room vanished. */
export interface RoomRemoved {
  /** Why. */
  reason: RemoveReason;
  /** Which. */
  roomId: RoomId;
}

/** The reply to `room.update`. */
export interface RoomReply {
  /** The settings. */
  room: Room;
}

/** `room.subscribe`. */
export interface RoomSubscribe {
  /** Whether the connection receives what it caused itself; true by default. */
  echo?: boolean;
  /** The rooms. */
  rooms: SubscribeRoom[];
}

/** A room that people join, or a direct message. */
export type RoomType = "Room" | "DirectMessage";

/** `room.unsubscribe`. */
export interface RoomUnsubscribe {
  /** The rooms. */
  roomIds: RoomId[];
}

/** `room.update`: at least one field. */
export interface RoomUpdate {
  /** Kinds of files that are accepted. */
  allowedMimeCategories?: MimeCategory[];
  /** Image address. */
  image?: string | null;
  /** Whether invites are out of use. */
  isInvitePaused?: boolean;
  /** Whether only ManageMessages may write. */
  isReadOnly?: boolean;
  /** Largest file in bytes. */
  maxFileSizeBytes?: number | null;
  /** The name. */
  name?: string;
  /** The room. */
  roomId: RoomId;
  /** Time between two sends of a member, in ms. */
  slowmodeMs?: number | null;
  /** The topic. */
  topic?: string | null;
}

/** Settings were changed. */
export interface RoomUpdated {
  /** What is different. */
  changes: RoomDelta;
  /** By whom. */
  userId: UserId;
}

/** A room as one member sees it. */
export interface RoomView {
  /** The end of its log. */
  head?: Head;
  /** Whether one owns it. */
  isRoomOwner?: boolean;
  /** One's own membership. */
  membership: Membership;
  /** How many others. */
  participantCount?: number;
  /** The first 10 others of a direct message. */
  participants?: User[];
  /** What one may do. */
  permissions?: Permissions;
  /** Its settings. */
  room: Room;
  /** The highest role's position; −1 without a role. */
  topRolePosition?: number;
}

export type RowKey = string;

/** `schedule.cancel`. */
export interface ScheduleCancel {
  /** The job. */
  jobId: JobId;
}

/** `schedule.count`. */
export type ScheduleCount = Record<string, never>;

/** `schedule.list`. */
export interface ScheduleList {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The room. */
  roomId: RoomId;
}

/** `schedule.message`. */
export interface ScheduleMessage {
  /** How the body is read; Text by default. */
  format?: Format;
  /** The body. */
  message: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The message it answers. */
  replyRowKey?: RowKey;
  /** The room. */
  roomId: RoomId;
  /** When. */
  runAt: Timestamp;
}

/** `schedule.mine`. */
export interface ScheduleMine {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
}

/** `schedule.reminder`. */
export interface ScheduleReminder {
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
  /** When. */
  runAt: Timestamp;
  /** Of what. */
  text: string;
}

/** `schedule.reschedule`: at least one field. */
export interface ScheduleReschedule {
  /** How the body is read. */
  format?: Format;
  /** The job. */
  jobId: JobId;
  /** The body. */
  message?: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The message it answers. */
  replyRowKey?: RowKey | null;
  /** The room. */
  roomId?: RoomId;
  /** When. */
  runAt?: Timestamp;
}

/** `schedule.sendNow`. */
export interface ScheduleSendNow {
  /** The job. */
  jobId: JobId;
  /** Makes a repeat safe. */
  nonce?: Nonce;
}

/** A filter of a search. */
export interface SearchFilter {
  /** What it looks at. */
  type: SearchFilterType;
  /** What it wants. */
  value: string;
}

/** What a search filter looks at. */
export type SearchFilterType = "From" | "Mentions" | "In" | "Has" | "Before" | "After" | "During" | "Pinned";

export type Secret = string;

/** The reply to `schedule.sendNow`. */
export interface SendNowReply {
  /** The job. */
  job: Job;
  /** The posted message. */
  message: Message;
}

/** One of one's own messages. */
export interface SentMessage {
  /** The message. */
  message: Message;
  /** Its room. */
  room: Room;
}

/** The server. */
export interface ServerInfo {
  /** Its clock. */
  time: Timestamp;
  /** Its version. */
  version: string;
}

/** A log-in. */
export interface Session {
  /** The network address last seen. */
  address?: string;
  /** The program. */
  client?: SessionClient;
  /** When it was made. */
  createdAt?: Timestamp;
  /** When it ends. */
  expiresAt?: Timestamp;
  /** Whether it is the caller's own. */
  isCurrent?: boolean;
  /** When it was last used. */
  lastSeenAt?: Timestamp;
  /** Its id. */
  sessionId: SessionId;
}

/** The program that a session was made with. */
export interface SessionClient {
  /** Its name. */
  name?: string;
  /** Its version. */
  version?: string;
}

/** The session ends soon. */
export interface SessionExpiring {
  /** In how many ms. */
  inMs: number;
}

/** `session.hello`: the first command of a connection. */
export interface SessionHello {
  /** The program. */
  client?: ClientInfo;
  /** Left out when the upgrade carried a bearer header or the cookie. */
  token?: Secret;
}

export type SessionId = string;

/** `session.list`. */
export type SessionList = Record<string, never>;

/** `session.ping`. */
export type SessionPing = Record<string, never>;

/** `session.refresh`: swaps the token of a connection. */
export interface SessionRefresh {
  /** A token of the same user. */
  token: Secret;
}

/** `session.revoke`: one session, or all others. */
export interface SessionRevoke {
  /** All but the caller's own. */
  others?: boolean;
  /** The session to end. */
  sessionId?: SessionId;
}

/** Presence and custom status. */
export interface Status {
  /** When the override ends. */
  expiresAt?: Timestamp;
  /** Custom status. */
  message?: string;
  /** Always present. */
  status: PresenceStatus;
  /** Whose. */
  userId: UserId;
}

/** Presence changed. */
export interface StatusChanged {
  /** The status. */
  status: Status;
}

/** `status.get`. */
export interface StatusGet {
  /** Whose. */
  userIds: UserId[];
}

/** The reply to `status.set`. */
export interface StatusReply {
  /** The status. */
  status: Status;
}

/** `status.set`: at least one field. */
export interface StatusSet {
  /** When the override ends. */
  expiresAt?: Timestamp | null;
  /** Custom status. */
  message?: string | null;
  /** The override. */
  status?: PresenceStatus | null;
}

/** The reply to `room.subscribe`. */
export interface SubscribeReply {
  /** One entry per room asked for. */
  rooms?: Subscribed[];
}

/** One room of a subscribe. */
export interface SubscribeRoom {
  /** The room. */
  roomId: RoomId;
  /** The position to go on from. */
  since?: Position;
}

/** How the subscription of one room begins. */
export interface Subscribed {
  /** The log's epoch. */
  epoch?: string;
  /** Why there is no subscription. */
  error?: ProtocolError;
  /** The room. */
  roomId: RoomId;
  /** The room's head. */
  seq?: number;
  /** The subscription's number on this connection. */
  sub?: number;
  /** What follows. */
  verdict: Verdict;
}

/** `thread.follow`. */
export interface ThreadFollow {
  /** The room. */
  roomId: RoomId;
  /** The root. */
  rowKey: RowKey;
}

/** `thread.followed`. */
export interface ThreadFollowed {
  /** The room. */
  roomId: RoomId;
}

/** The reply to `thread.followed`. */
export interface ThreadFollowedReply {
  /** Live roots, newest first. */
  items?: ThreadSummary[];
  /** Newest follow first, deleted roots too. */
  rowKeys?: RowKey[];
}

/** A thread that somebody follows. */
export interface ThreadSummary {
  /** When it was written. */
  lastReplyAt?: Timestamp;
  /** The newest reply. */
  lastReplyRowKey?: RowKey;
  /** Live replies. */
  replyCount?: number;
  /** The message that was answered. */
  root: Message;
  /** At most 10 repliers, latest first. */
  userIds?: UserId[];
}

/** `thread.unfollow`. */
export interface ThreadUnfollow {
  /** The room. */
  roomId: RoomId;
  /** The root. */
  rowKey: RowKey;
}

export type Timestamp = string;

/** `typing.start`. */
export interface TypingStart {
  /** The room. */
  roomId: RoomId;
}

/** Somebody types. */
export interface TypingStarted {
  /** On which socket. */
  connectionId: ConnectionId;
  /** As shown in the room. */
  name: string;
  /** Who. */
  userId: UserId;
}

/** Why a subscription ended. */
export type UnsubscribeReason = "Left" | "Kicked" | "Banned" | "Deleted" | "Revoked";

/** A subscription ended. */
export interface Unsubscribed {
  /** Why. */
  reason: UnsubscribeReason;
}

/** Where to upload a file to. */
export interface Upload {
  /** When the addresses end. */
  expiresAt: Timestamp;
  /** The file. */
  fileId: FileId;
  /** Proves that the file is the caller's. */
  grant: string;
  /** The address for a thumbnail; images only. */
  thumbnailUploadUrl?: string;
  /** The address for its bytes. */
  uploadUrl: string;
}

/** An account. A deleted one reads "deleted user". */
export interface User {
  /** A few words about oneself. */
  biography?: string;
  /** When it was made. */
  createdAt?: Timestamp;
  /** Image address. */
  image?: string;
  /** Whether the account is deleted. */
  isDeleted?: boolean;
  /** The account name. */
  name?: string;
  /** When it was last changed. */
  updatedAt?: Timestamp;
  /** The account. */
  userId: UserId;
}

/** `user.get`. */
export interface UserGet {
  /** Whom. */
  userIds: UserId[];
}

export type UserId = string;

/** The reply to `user.update`. */
export interface UserReply {
  /** The account. */
  user: User;
}

/** `user.search`: by the start of the name. */
export interface UserSearch {
  /** Where the page begins. */
  cursor?: string;
  /** Most items wanted. */
  limit?: number;
  /** The start of the name. */
  query: string;
}

/** `user.update`: at least one field. */
export interface UserUpdate {
  /** A few words about oneself. */
  biography?: string | null;
  /** Image address. */
  image?: string | null;
  /** The account name. */
  name?: string;
}

/** An account changed. */
export interface UserUpdated {
  /** The account. */
  user: User;
}

/** How a subscription begins; see the protocol, section 6. */
export type Verdict = "live" | "exact" | "gap" | "reset" | "error";

/** An inbound webhook. */
export interface Webhook {
  /** The sender it shows. */
  appUser: AppUser;
  /** When it was made. */
  createdAt?: Timestamp;
  /** Who made it. */
  creatorId: UserId;
  /** Whether it accepts calls. */
  isActive?: boolean;
  /** Its name. */
  name: string;
  /** Its room. */
  roomId: RoomId;
  /** When it was last changed. */
  updatedAt?: Timestamp;
  /** The webhook. */
  webhookId: WebhookId;
}

/** `webhook.create`. */
export interface WebhookCreate {
  /** The name; "Webhook" by default. */
  name?: string;
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
}

/** `webhook.delete`: its messages stay. */
export interface WebhookDelete {
  /** The room. */
  roomId: RoomId;
  /** The webhook. */
  webhookId: WebhookId;
}

export type WebhookId = string;

/** `webhook.list`. */
export interface WebhookList {
  /** The room. */
  roomId: RoomId;
}

/** A webhook. */
export interface WebhookReply {
  /** The webhook. */
  webhook: Webhook;
}

/** `webhook.rotate`: the old address is dead at once. */
export interface WebhookRotate {
  /** Makes a repeat safe. */
  nonce?: Nonce;
  /** The room. */
  roomId: RoomId;
  /** The webhook. */
  webhookId: WebhookId;
}

/** The reply to `webhook.create` and `webhook.rotate`; a repeat has no token and address. */
export interface WebhookSecretReply {
  /** The token. */
  token?: Secret;
  /** The address, token included. */
  url?: Secret;
  /** The webhook. */
  webhook: Webhook;
}

/** `webhook.update`: at least one field. */
export interface WebhookUpdate {
  /** Whether it accepts calls. */
  isActive?: boolean;
  /** The name. */
  name?: string;
  /** The room. */
  roomId: RoomId;
  /** The webhook. */
  webhookId: WebhookId;
}

/** The data and the reply of every command. */
export interface Operations {
  "session.hello": { data: SessionHello; reply: HelloReply };
  "session.ping": { data: SessionPing; reply: PingReply };
  "session.refresh": { data: SessionRefresh; reply: RefreshReply };
  "session.list": { data: SessionList; reply: Items<Session> };
  "session.revoke": { data: SessionRevoke; reply: Empty };
  "user.get": { data: UserGet; reply: Items<User> };
  "user.search": { data: UserSearch; reply: Page<User> };
  "user.update": { data: UserUpdate; reply: UserReply };
  "room.create": { data: RoomCreate; reply: RoomView };
  "room.get": { data: RoomGet; reply: Maybe<RoomView> };
  "room.list": { data: RoomList; reply: Page<RoomView> };
  "room.update": { data: RoomUpdate; reply: RoomReply };
  "room.delete": { data: RoomDelete; reply: Empty };
  "room.leave": { data: RoomLeave; reply: Empty };
  "room.members": { data: RoomMembers; reply: Page<Member> };
  "room.subscribe": { data: RoomSubscribe; reply: SubscribeReply };
  "room.unsubscribe": { data: RoomUnsubscribe; reply: Empty };
  "invite.create": { data: InviteCreate; reply: InviteReply };
  "invite.get": { data: InviteGet; reply: InviteGetReply };
  "invite.mine": { data: InviteMine; reply: Maybe<InviteReply> };
  "invite.list": { data: InviteList; reply: Page<Invite> };
  "invite.revoke": { data: InviteRevoke; reply: Empty };
  "invite.join": { data: InviteJoin; reply: RoomView };
  "membership.get": { data: MembershipGet; reply: Items<Membership> };
  "membership.update": { data: MembershipUpdate; reply: MembershipUpdateReply };
  "membership.clearMentions": { data: MembershipClearMentions; reply: MembershipReply };
  "category.create": { data: CategoryCreate; reply: CategoryReply };
  "category.list": { data: CategoryList; reply: Items<Category> };
  "category.update": { data: CategoryUpdate; reply: CategoryReply };
  "category.delete": { data: CategoryDelete; reply: Empty };
  "category.reorder": { data: CategoryReorder; reply: Items<Category> };
  "message.send": { data: MessageSend; reply: MessageReply };
  "message.edit": { data: MessageEdit; reply: MessageReply };
  "message.delete": { data: MessageDelete; reply: RevReply };
  "message.forward": { data: MessageForward; reply: ForwardReply };
  "message.pin": { data: MessagePin; reply: RevReply };
  "message.unpin": { data: MessageUnpin; reply: RevReply };
  "message.list": { data: MessageList; reply: MessageListReply };
  "message.get": { data: MessageGet; reply: MessageGetReply };
  "message.thread": { data: MessageThread; reply: MessageThreadReply };
  "message.search": { data: MessageSearch; reply: MessageSearchReply };
  "message.sent": { data: MessageSent; reply: OffsetPage<SentMessage> };
  "poll.vote": { data: PollVote; reply: PollVoteReply };
  "reaction.add": { data: ReactionAdd; reply: ReactionReply };
  "reaction.remove": { data: ReactionRemove; reply: ReactionReply };
  "reaction.list": { data: ReactionList; reply: Page<ReactionEntry> };
  "typing.start": { data: TypingStart; reply: Empty };
  "thread.follow": { data: ThreadFollow; reply: Empty };
  "thread.unfollow": { data: ThreadUnfollow; reply: Empty };
  "thread.followed": { data: ThreadFollowed; reply: ThreadFollowedReply };
  "preview.delete": { data: PreviewDelete; reply: RevReply };
  "file.createUploads": { data: FileCreateUploads; reply: FilesReply };
  "file.urls": { data: FileUrls; reply: FileUrlsReply };
  "file.discard": { data: FileDiscard; reply: Empty };
  "file.delete": { data: FileDelete; reply: RevReply };
  "file.createImageUpload": { data: FileCreateImageUpload; reply: ImageUploadReply };
  "emoji.createUpload": { data: EmojiCreateUpload; reply: EmojiUploadReply };
  "emoji.create": { data: EmojiCreate; reply: EmojiReply };
  "emoji.update": { data: EmojiUpdate; reply: EmojiReply };
  "emoji.delete": { data: EmojiDelete; reply: Empty };
  "emoji.list": { data: EmojiList; reply: Items<CustomEmoji> };
  "schedule.reminder": { data: ScheduleReminder; reply: JobReply };
  "schedule.message": { data: ScheduleMessage; reply: JobReply };
  "schedule.reschedule": { data: ScheduleReschedule; reply: JobReply };
  "schedule.cancel": { data: ScheduleCancel; reply: JobReply };
  "schedule.sendNow": { data: ScheduleSendNow; reply: SendNowReply };
  "schedule.list": { data: ScheduleList; reply: Page<Job> };
  "schedule.mine": { data: ScheduleMine; reply: Page<JobInRoom> };
  "schedule.count": { data: ScheduleCount; reply: CountReply };
  "role.create": { data: RoleCreate; reply: RoleReply };
  "role.update": { data: RoleUpdate; reply: RoleReply };
  "role.delete": { data: RoleDelete; reply: Empty };
  "role.assign": { data: RoleAssign; reply: Empty };
  "role.revoke": { data: RoleRevoke; reply: Empty };
  "role.list": { data: RoleList; reply: Items<Role> };
  "role.members": { data: RoleMembers; reply: Items<MemberRoles> };
  "role.permissions": { data: RolePermissions; reply: Items<RoleSummary> };
  "moderation.execute": { data: ModerationExecute; reply: ModerationReply };
  "moderation.bans": { data: ModerationBans; reply: Page<Ban> };
  "moderation.unban": { data: ModerationUnban; reply: Empty };
  "moderation.log": { data: ModerationLog; reply: Page<ModerationLogEntry> };
  "note.create": { data: NoteCreate; reply: NoteReply };
  "note.list": { data: NoteList; reply: Page<Note> };
  "note.count": { data: NoteCount; reply: CountReply };
  "filter.get": { data: FilterGet; reply: Maybe<FilterReply> };
  "filter.set": { data: FilterSet; reply: FilterReply };
  "webhook.create": { data: WebhookCreate; reply: WebhookSecretReply };
  "webhook.list": { data: WebhookList; reply: Items<Webhook> };
  "webhook.update": { data: WebhookUpdate; reply: WebhookReply };
  "webhook.rotate": { data: WebhookRotate; reply: WebhookSecretReply };
  "webhook.delete": { data: WebhookDelete; reply: Empty };
  "appUser.get": { data: AppUserGet; reply: Items<AppUser> };
  "status.set": { data: StatusSet; reply: StatusReply };
  "status.get": { data: StatusGet; reply: Items<Status> };
  "friend.request": { data: FriendRequestCreate; reply: FriendRequestReply };
  "friend.accept": { data: FriendAccept; reply: FriendReply };
  "friend.decline": { data: FriendDecline; reply: Empty };
  "friend.cancel": { data: FriendCancel; reply: Empty };
  "friend.remove": { data: FriendRemove; reply: Empty };
  "friend.list": { data: FriendList; reply: FriendListReply };
  "block.add": { data: BlockAdd; reply: Empty };
  "block.remove": { data: BlockRemove; reply: Empty };
  "block.list": { data: BlockList; reply: Page<User> };
  "dm.open": { data: DmOpen; reply: RoomView };
  "dm.list": { data: DmList; reply: Page<RoomView> };
  "dm.hide": { data: DmHide; reply: Empty };
  "dm.add": { data: DmAdd; reply: RoomView };
  "dm.remove": { data: DmRemove; reply: Empty };
  "push.key": { data: PushKey; reply: PushKeyReply };
  "push.subscribe": { data: PushSubscribe; reply: PushSubscriptionReply };
  "push.unsubscribe": { data: PushUnsubscribe; reply: Empty };
  "push.list": { data: PushList; reply: Items<PushSubscription> };
}

/** What a repeat does: a read changes nothing, a set is idempotent, a new takes a nonce. */
export const operationClass = {
  "session.hello": "set",
  "session.ping": "read",
  "session.refresh": "set",
  "session.list": "read",
  "session.revoke": "set",
  "user.get": "read",
  "user.search": "read",
  "user.update": "set",
  "room.create": "new",
  "room.get": "read",
  "room.list": "read",
  "room.update": "set",
  "room.delete": "set",
  "room.leave": "set",
  "room.members": "read",
  "room.subscribe": "set",
  "room.unsubscribe": "set",
  "invite.create": "new",
  "invite.get": "read",
  "invite.mine": "read",
  "invite.list": "read",
  "invite.revoke": "set",
  "invite.join": "new",
  "membership.get": "read",
  "membership.update": "set",
  "membership.clearMentions": "set",
  "category.create": "new",
  "category.list": "read",
  "category.update": "set",
  "category.delete": "set",
  "category.reorder": "set",
  "message.send": "new",
  "message.edit": "set",
  "message.delete": "set",
  "message.forward": "new",
  "message.pin": "set",
  "message.unpin": "set",
  "message.list": "read",
  "message.get": "read",
  "message.thread": "read",
  "message.search": "read",
  "message.sent": "read",
  "poll.vote": "set",
  "reaction.add": "set",
  "reaction.remove": "set",
  "reaction.list": "read",
  "typing.start": "set",
  "thread.follow": "set",
  "thread.unfollow": "set",
  "thread.followed": "read",
  "preview.delete": "set",
  "file.createUploads": "new",
  "file.urls": "read",
  "file.discard": "set",
  "file.delete": "set",
  "file.createImageUpload": "new",
  "emoji.createUpload": "new",
  "emoji.create": "new",
  "emoji.update": "set",
  "emoji.delete": "set",
  "emoji.list": "read",
  "schedule.reminder": "new",
  "schedule.message": "new",
  "schedule.reschedule": "new",
  "schedule.cancel": "set",
  "schedule.sendNow": "new",
  "schedule.list": "read",
  "schedule.mine": "read",
  "schedule.count": "read",
  "role.create": "new",
  "role.update": "set",
  "role.delete": "set",
  "role.assign": "set",
  "role.revoke": "set",
  "role.list": "read",
  "role.members": "read",
  "role.permissions": "read",
  "moderation.execute": "new",
  "moderation.bans": "read",
  "moderation.unban": "set",
  "moderation.log": "read",
  "note.create": "new",
  "note.list": "read",
  "note.count": "read",
  "filter.get": "read",
  "filter.set": "set",
  "webhook.create": "new",
  "webhook.list": "read",
  "webhook.update": "set",
  "webhook.rotate": "new",
  "webhook.delete": "set",
  "appUser.get": "read",
  "status.set": "set",
  "status.get": "read",
  "friend.request": "new",
  "friend.accept": "set",
  "friend.decline": "set",
  "friend.cancel": "set",
  "friend.remove": "set",
  "friend.list": "read",
  "block.add": "set",
  "block.remove": "set",
  "block.list": "read",
  "dm.open": "new",
  "dm.list": "read",
  "dm.hide": "set",
  "dm.add": "new",
  "dm.remove": "set",
  "push.key": "read",
  "push.subscribe": "set",
  "push.unsubscribe": "set",
  "push.list": "read",
} as const satisfies Record<keyof Operations, "read" | "set" | "new">;

/** Commands that exist on the socket alone. */
export type SocketOperation =
  | "session.hello"
  | "session.ping"
  | "session.refresh"
  | "room.subscribe"
  | "room.unsubscribe";

export interface DurableEvents {
  "message.created": MessageCreated;
  "message.updated": MessageUpdated;
  "message.deleted": MessageDeleted;
  "message.purged": MessagePurged;
  "reaction.added": ReactionChanged;
  "reaction.removed": ReactionChanged;
  "poll.voted": PollVoted;
  "room.updated": RoomUpdated;
  "room.deleted": RoomDeleted;
  "member.joined": MemberJoined;
  "member.left": MemberLeft;
  "member.updated": MemberUpdated;
  "role.created": RoleCreated;
  "role.updated": RoleUpdated;
  "role.deleted": RoleDeleted;
  "role.assigned": RoleAssignment;
  "role.revoked": RoleAssignment;
  "emoji.created": EmojiCreated;
  "emoji.updated": EmojiUpdated;
  "emoji.deleted": EmojiDeleted;
}

export interface ControlEvents {
  "room.catchUp": CatchUp;
  "room.advanced": Empty;
  "room.behind": Behind;
  "room.unsubscribed": Unsubscribed;
}

export interface EphemeralEvents {
  "typing.started": TypingStarted;
}

export interface UserEvents {
  "membership.updated": MembershipUpdated;
  "room.added": RoomAdded;
  "room.removed": RoomRemoved;
  "moderation.action": ModerationActed;
  "job.updated": JobUpdated;
  "status.changed": StatusChanged;
  "user.updated": UserUpdated;
  "friend.changed": FriendChanged;
  "user.behind": Empty;
  "session.expiring": SessionExpiring;
}

/** The name of a command. */
export type OperationName = keyof Operations;

/** A command. */
export interface CommandFrame<O extends OperationName = OperationName> {
  /** 1 to 2^53 - 1, unique among the commands in flight. */
  id: number;
  op: O;
  data: Operations[O]["data"];
}

/** The answer to a command. */
export type ReplyFrame<O extends OperationName = OperationName> =
  | { id: number; data: Operations[O]["reply"]; error?: undefined }
  | { id: number; error: ProtocolError; data?: undefined };

/** A change of a room: in order, never lost. */
export type DurableEvent = {
  [E in keyof DurableEvents]: { event: E; roomId: RoomId; seq: number; data: DurableEvents[E] };
}[keyof DurableEvents];

/** About one subscription of this connection. `room.advanced` has a `seq` and no data. */
export type ControlEvent = {
  [E in keyof ControlEvents]: E extends "room.advanced"
    ? { event: E; roomId: RoomId; sub: number; seq: number }
    : { event: E; roomId: RoomId; sub: number; data: ControlEvents[E] };
}[keyof ControlEvents];

/** A hint about a room. */
export type EphemeralEvent = {
  [E in keyof EphemeralEvents]: { event: E; roomId: RoomId; data: EphemeralEvents[E] };
}[keyof EphemeralEvents];

/** To all connections of one user, not replayed. */
export type UserEvent = {
  [E in keyof UserEvents]: { event: E; data: UserEvents[E] };
}[keyof UserEvents];

export type EventFrame = DurableEvent | ControlEvent | EphemeralEvent | UserEvent;

/** What a client receives. */
export type ServerFrame = ReplyFrame | EventFrame;

/** The HTTP status of every error code. */
export const errorStatus = {
  /** Malformed data, a limit exceeded, or an operation that does not fit its object: fix the request. */
  bad_request: 400,
  /** No valid token: log in again. */
  unauthenticated: 401,
  /** Not a member, no such room, or a right is missing. */
  forbidden: 403,
  /** Absent or deleted. */
  not_found: 404,
  /** A conditional write lost, or a unique name is taken: read again. */
  conflict: 409,
  /** An HTTP body over the limit. */
  payload_too_large: 413,
  /** The member is under a timeout: wait `retryAfterMs`. */
  timed_out: 403,
  /** The room is read-only for this member. */
  read_only: 403,
  /** Wait `retryAfterMs` before the next send. */
  slowmode: 429,
  /** A filtered word: change the text. */
  word_filtered: 403,
  /** Too many commands: wait `retryAfterMs`. */
  rate_limited: 429,
  /** Unknown or not yet built. */
  unsupported: 400,
  /** The store is away; the command may or may not have been stored: repeat with the same nonce. */
  unavailable: 503,
  /** Anything else, outcome unknown: repeat with the same nonce, report the `requestId`. */
  internal: 500,
} as const satisfies Record<ErrorCode, number>;

/** Why a socket is closed. */
export const closeCode = {
  /** Normal: stop. */
  normal: 1000,
  /** The server drains or restarts: reconnect after a random 0–5 s. */
  goingAway: 1001,
  /** A violation of RFC 6455. */
  protocolError: 1002,
  /** A text frame where binary was agreed, or the other way round. */
  wrongFrameKind: 1003,
  /** Invalid UTF-8. */
  invalidUtf8: 1007,
  /** A frame over the limit. */
  tooBig: 1009,
  /** Internal failure: reconnect with backoff. */
  internal: 1011,
  /** Not a frame of the protocol. */
  badFrame: 4400,
  /** Token invalid, expired or revoked: get a new one. */
  unauthenticated: 4401,
  /** No hello in time, or heartbeat missed: reconnect. */
  timedOut: 4408,
  /** Behind again and again, or for 60 s: reconnect. */
  behind: 4413,
  /** Too many connections or frames; the reason is `retryAfterMs=<n>`. */
  tooMany: 4429,
} as const;

/** The bits of a permission set, which is decimal text on the wire. */
export const permission = {
  ReadMessages: 1,
  SendMessages: 2,
  ManageMessages: 4,
  MentionEveryone: 8,
  ManageRoom: 16,
  ManageRoles: 32,
  ManageInvites: 64,
  KickMembers: 128,
  BanMembers: 256,
  MuteMembers: 512,
  MoveMembers: 1024,
  ManageNicknames: 2048,
  ManageWebhooks: 4096,
  ManageEmojis: 8192,
  Administrator: 16384,
} as const;
