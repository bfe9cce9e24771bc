// Bytes to a signed address, with progress (which fetch does not tell).
import { WireError, noAnswer } from "./wire_error";
import type { ProtocolError } from "./wire/generated";

export function upload(url: string, bytes: Blob, mimetype: string, signal?: AbortSignal, progress?: (part: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    request.setRequestHeader("Content-Type", mimetype);
    // At an address of Azure's storage, which wants to know what is brought.
    if (/^https?:/.test(url)) request.setRequestHeader("x-ms-blob-type", "BlockBlob");
    request.upload.onprogress = ({ loaded, total }) => progress?.(total > 0 ? loaded / total : 0);
    request.onload = () => (request.status < 300 ? resolve() : reject(refusal(request)));
    request.onerror = request.onabort = () => reject(noAnswer("the upload was broken off"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(bytes);
  });
}

function refusal(request: XMLHttpRequest): WireError {
  try {
    return new WireError(JSON.parse(request.responseText) as ProtocolError);
  } catch {
    return new WireError({ code: "refused", message: `the server refused the file (${request.status})` });
  }
}
