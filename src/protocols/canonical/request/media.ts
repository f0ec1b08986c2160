import type { MediaSource } from "../answer/block.ts";

const DATA_URL_REGEXP = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/is;

/**
 * A `data:` URL as bytes, any other as an address.
 *
 * @returns `undefined` for a `data:` URL without base64 content.
 */
export function sourceOfUrl(url: string): MediaSource | undefined {
  if (!/^data:/i.test(url)) return { type: "url", url };
  const match = DATA_URL_REGEXP.exec(url);
  const [, mediaType = "", parameters = "", data = ""] = match ?? [];
  if (match === null || !parameters.toLowerCase().endsWith(";base64")) {
    return undefined;
  }
  return { type: "base64", mediaType: normalMediaType(mediaType), data };
}

/** Base64 content as a `data:` URL. */
export function dataUrl(
  source: { readonly mediaType: string; readonly data: string },
): string {
  return `data:${source.mediaType};base64,${source.data}`;
}

/** Lower case, and the registered name of JPEG. */
export function normalMediaType(mediaType: string): string {
  const lower = mediaType.trim().toLowerCase();
  return lower === "image/jpg" ? "image/jpeg" : lower;
}

/** A name for a file that has none: content without one is refused. */
export function defaultFileName(mediaType: string): string {
  const [, subtype = ""] = mediaType.split("/");
  return /^[a-z0-9]{1,8}$/.test(subtype) ? `document.${subtype}` : "document";
}
