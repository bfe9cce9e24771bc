// A small picture of an image file, made here so that the server need not decode anything.

const longestEdge = 320;
const bytesMax = 262_144;

/** The size in which a picture fits into the edge; never larger than it is. */
export function fitted(width: number, height: number, edge = longestEdge): { width: number; height: number } {
  const scale = Math.min(1, edge / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** None for what the browser cannot draw or write as webp. */
export async function thumbnailOf(file: Blob): Promise<Blob | undefined> {
  if (!file.type.startsWith("image/")) return undefined;
  const picture = await createImageBitmap(file);
  try {
    const { width, height } = fitted(picture.width, picture.height);
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext("2d")?.drawImage(picture, 0, 0, width, height);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
    return blob.type === "image/webp" && blob.size <= bytesMax ? blob : undefined;
  } finally {
    picture.close();
  }
}
