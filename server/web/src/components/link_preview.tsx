// What a link in a message leads to.
import type { JSX } from "preact";
import type { LinkPreview } from "../wire/generated";

export function LinkPreviewCard({ preview }: { preview: LinkPreview }): JSX.Element | null {
  if (!/^https?:/i.test(preview.url)) return null;
  const image = preview.images?.find((address) => address.startsWith("https:"));
  return (
    <a class="preview" href={preview.url} target="_blank" rel="noopener noreferrer nofollow">
      {image && <img src={image} alt="" loading="lazy" referrerpolicy="no-referrer" />}
      <span class="preview-text">
        <span class="preview-site">{preview.siteName || new URL(preview.url).host}</span>
        <bdi class="preview-title">{preview.title || preview.url}</bdi>
        {preview.description && <bdi class="preview-note">{preview.description}</bdi>}
      </span>
    </a>
  );
}
