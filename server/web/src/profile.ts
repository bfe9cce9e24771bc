// One's own name, picture and words about oneself; and pictures of rooms, which come the same way.
import { connection, session } from "./link";
import { people } from "./people";
import { upload } from "./upload";
import type { RoomId, UserUpdate } from "./wire/generated";

export async function updateProfile(changes: UserUpdate): Promise<void> {
  const { user } = await connection.request("user.update", changes);
  people.learn(user);
  session.value = { kind: "signedIn", user };
}

/** Uploads a picture; the answer is its lasting address. */
export async function uploadImage(file: File, nonce: string, roomId?: RoomId): Promise<string> {
  const reply = await connection.request("file.createImageUpload", { mimetype: file.type, size: file.size, roomId, nonce });
  await upload(reply.uploadUrl, file, file.type);
  return reply.image;
}
