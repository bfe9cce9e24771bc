// Files on their way into the composer of a room: uploaded at once, attached when the message is sent.
import { connection } from "./link";
import { notify } from "./notices";
import type { RoomModel } from "./room";
import { thumbnailOf } from "./thumbnail";
import { upload } from "./upload";
import { explain } from "./wire_error";

export interface Attachment {
  readonly key: string;
  readonly file: File;
  state: "uploading" | "ready" | "failed";
  /** From 0 to 1. */
  progress: number;
  error?: string;
  fileId?: string;
  grant?: string;
  hasThumbnail: boolean;
}

const filesMax = 10;
const controllers = new Map<string, AbortController>();

export async function attach(room: RoomModel, files: File[]): Promise<void> {
  const free = filesMax - room.attachments.peek().length;
  if (files.length > free) notify(`A message takes ${filesMax} files at most.`);
  const taken = files.slice(0, Math.max(0, free)).filter((file) => {
    if (file.size === 0) notify(`${file.name} is empty.`);
    return file.size > 0;
  });
  const added = taken.map((file): Attachment => ({ key: crypto.randomUUID(), file, state: "uploading", progress: 0, hasThumbnail: false }));
  room.attachments.value = [...room.attachments.peek(), ...added];
  await Promise.all(added.map((attachment) => begin(room, attachment)));
}

async function begin(room: RoomModel, attachment: Attachment): Promise<void> {
  const { key, file } = attachment;
  const controller = new AbortController();
  controllers.set(key, controller);
  const mimetype = file.type || "application/octet-stream";
  try {
    const { files = [] } = await connection.request("file.createUploads", {
      roomId: room.roomId,
      files: [{ filename: file.name, mimetype, size: file.size }],
      nonce: key,
    });
    const grant = files[0];
    if (!grant) throw new Error("no address");
    change(room, key, { fileId: grant.fileId, grant: grant.grant });
    await upload(grant.uploadUrl, file, mimetype, controller.signal, (progress) => change(room, key, { progress }));
    let hasThumbnail = false;
    if (grant.thumbnailUploadUrl) {
      try {
        const thumbnail = await thumbnailOf(file);
        if (thumbnail) await upload(grant.thumbnailUploadUrl, thumbnail, thumbnail.type, controller.signal);
        hasThumbnail = thumbnail !== undefined;
      } catch {
        // The picture itself is shown instead.
      }
    }
    change(room, key, { state: "ready", progress: 1, hasThumbnail });
  } catch (error) {
    if (!controller.signal.aborted) change(room, key, { state: "failed", error: explain(error) });
  } finally {
    controllers.delete(key);
  }
}

export function detach(room: RoomModel, { key, fileId, grant }: Attachment): void {
  controllers.get(key)?.abort();
  room.attachments.value = room.attachments.peek().filter((other) => other.key !== key);
  if (fileId && grant) {
    // What is not discarded the server removes by itself after a while.
    connection.call("file.discard", { roomId: room.roomId, files: [{ fileId, grant }] }, () => undefined);
  }
}

export function retryAttachment(room: RoomModel, attachment: Attachment): void {
  change(room, attachment.key, { state: "uploading", progress: 0, error: undefined });
  void begin(room, attachment);
}

function change(room: RoomModel, key: string, changes: Partial<Attachment>): void {
  room.attachments.value = room.attachments.peek().map((attachment) => (attachment.key === key ? { ...attachment, ...changes } : attachment));
}
