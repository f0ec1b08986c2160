import { lookup } from "@gateway/base/collections";
import type { MediaSource } from "../content/block.ts";

const DATA_URL_REGEXP = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/is;

/** The first base64 characters of file formats with a signature. */
const TYPE_BY_HEAD: readonly (readonly [head: RegExp, mediaType: string])[] = [
  [/^JVBERi0/, "application/pdf"],
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  // "RIFF" is also the signature of audio and video files.
  [/^UklGR.{7}RUJQ/, "image/webp"],
];

/** The media types by file name extension. */
const TYPE_BY_ENDING: Readonly<Record<string, string>> = {
  csv: "text/csv",
  htm: "text/html",
  html: "text/html",
  json: "application/json",
  md: "text/markdown",
  txt: "text/plain",
  xml: "text/xml",
};

/**
 * Returns the source of an image or file by its URL. A `data:` URL and bare base64 of a known format become base64, and
 * other URLs stay URLs.
 *
 * @returns `undefined` for a `data:` URL without base64 content.
 */
export function sourceOfUrl(url: string): MediaSource | undefined {
  if (!/^data:/i.test(url)) {
    const mediaType = /^[\w+/=-]+$/.test(url.slice(0, 64))
      ? typeOfContent(url)
      : undefined;
    return mediaType === undefined
      ? { type: "url", url }
      : { type: "base64", mediaType, data: url };
  }
  const match = DATA_URL_REGEXP.exec(url);
  const [, mediaType = "", parameters = "", data = ""] = match ?? [];
  if (match === null || !parameters.toLowerCase().endsWith(";base64")) {
    return undefined;
  }
  const named = normalMediaType(mediaType);
  const isNamed = named !== "" && named !== "application/octet-stream";
  return {
    type: "base64",
    mediaType: isNamed ? named : typeOfContent(data) ?? named,
    data,
  };
}

/**
 * Returns the source of `file_data` as {@linkcode sourceOfUrl} does. Bare base64 of an unknown format gets its type
 * from the extension of the file name. The default is PDF, the one type that all models read.
 */
export function sourceOfFile(
  data: string,
  name?: string,
): MediaSource | undefined {
  const source = sourceOfUrl(data);
  if (source?.type !== "url" || /^[a-z][a-z0-9+.-]*:/i.test(data)) {
    return source;
  }
  const ending = name?.toLowerCase().split(".").at(-1) ?? "";
  return {
    type: "base64",
    mediaType: lookup(TYPE_BY_ENDING, ending) ?? "application/pdf",
    data,
  };
}

function typeOfContent(data: string): string | undefined {
  return TYPE_BY_HEAD.find(([head]) => head.test(data))?.[1];
}

/** Returns base64 content as a `data:` URL. */
export function dataUrl(
  source: { readonly mediaType: string; readonly data: string },
): string {
  return `data:${source.mediaType};base64,${source.data}`;
}

/** Returns a media type in lower case, with the registered name of JPEG. */
export function normalMediaType(mediaType: string): string {
  const lower = mediaType.trim().toLowerCase();
  return lower === "image/jpg" ? "image/jpeg" : lower;
}

/** Returns a default name for a file, because providers reject a file without a name. */
export function defaultFileName(mediaType: string): string {
  const [, subtype = ""] = mediaType.split("/");
  return /^[a-z0-9]{1,8}$/.test(subtype) ? `document.${subtype}` : "document";
}
