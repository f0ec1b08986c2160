import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type {
  AudioBlock,
  Citation,
  FileBlock,
  ImageBlock,
  MediaSource,
  MessageHead,
  OpaqueBlock,
  RefusalBlock,
  ResultContent,
  TextBlock,
} from "../../canonical/content/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { sourceOfFile, sourceOfUrl } from "../../canonical/request/media.ts";
import { decodeCache, otherFields, ownMetadata, textOf } from "../fields.ts";

/** The canonical block of a content part. */
export type PartBlock = ResultContent | AudioBlock | RefusalBlock;

/**
 * Parses the `content` at `param`, which is a string or a list of parts. Throws `invalid_request` with the path of an
 * invalid part.
 */
export function decodeParts(
  content: JsonValue | undefined,
  param: string,
): readonly PartBlock[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (!Array.isArray(content)) {
    throw invalidField(param, "must be a string or a list of parts");
  }
  return content.map((part, index) => decodePart(part, `${param}[${index}]`));
}

function decodePart(part: JsonValue, param: string): PartBlock {
  if (!isJsonObject(part) || typeof part.type !== "string") {
    throw invalidField(`${param}.type`, "is missing");
  }
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return decodeText(part, param);
    case "refusal":
      return {
        kind: "refusal",
        text: textIn(part.refusal, `${param}.refusal`),
      };
    case "input_image":
      return decodeImage(part, param);
    case "input_file":
      return decodeFile(part, param);
    case "input_audio":
      return decodeAudio(part, param);
    default:
      return opaquePart(part);
  }
}

const TEXT_FIELDS = ["type", "text", "annotations", "prompt_cache_breakpoint"];

function decodeText(part: JsonObject, param: string): TextBlock {
  const citations = decodeAnnotations(part.annotations);
  const rest = otherFields(part, TEXT_FIELDS);
  return {
    kind: "text",
    text: textIn(part.text, `${param}.text`),
    citations: citations.length === 0 ? undefined : citations,
    cache: decodeCache(part),
    providerMetadata: ownMetadata(
      rest === undefined ? undefined : { part: rest },
    ),
  };
}

function decodeImage(part: JsonObject, param: string): ImageBlock {
  return {
    kind: "image",
    source: typeof part.file_id === "string"
      ? fileId(part.file_id)
      : urlIn(part.image_url, `${param}.image_url`),
    detail: typeof part.detail === "string" ? part.detail : undefined,
    cache: decodeCache(part),
  };
}

function decodeFile(part: JsonObject, param: string): FileBlock {
  return {
    kind: "file",
    source: fileSource(part, param),
    name: typeof part.filename === "string" ? part.filename : undefined,
    cache: decodeCache(part),
  };
}

function fileSource(part: JsonObject, param: string): MediaSource {
  const { file_id, file_url, file_data, filename } = part;
  if (typeof file_id === "string") return fileId(file_id);
  if (typeof file_url === "string") return { type: "url", url: file_url };
  const source = sourceOfFile(
    textIn(file_data, `${param}.file_data`),
    typeof filename === "string" ? filename : undefined,
  );
  return source ?? rejectDataUrl(`${param}.file_data`);
}

function fileId(id: string): MediaSource {
  return { type: "id", store: "openai", id };
}

function urlIn(value: JsonValue | undefined, param: string): MediaSource {
  return sourceOfUrl(textIn(value, param)) ?? rejectDataUrl(param);
}

function rejectDataUrl(param: string): never {
  throw invalidField(param, "is a data URL without base64 content");
}

/** Parses audio that has the only documented shape. Audio of a newer shape stays unchanged. */
function decodeAudio(
  part: JsonObject,
  param: string,
): AudioBlock | OpaqueBlock {
  const audio = part.input_audio;
  if (!isJsonObject(audio)) return opaquePart(part);
  return {
    kind: "audio",
    format: textIn(audio.format, `${param}.input_audio.format`),
    data: textIn(audio.data, `${param}.input_audio.data`),
  };
}

/** Returns an unknown part of the content as a block. A flag distinguishes this block from that of an item. */
export function opaquePart(part: JsonObject): OpaqueBlock {
  return {
    kind: "opaque",
    protocol: "responses",
    type: textOf(part.type) ?? "",
    value: part,
    weight: "reject",
    providerMetadata: ownMetadata({ isPart: true }),
  };
}

/** Returns the value as text, or rejects the request. */
function textIn(value: JsonValue | undefined, param: string): string {
  if (typeof value !== "string") throw invalidField(param, "is missing");
  return value;
}

/** Parses the `annotations` of a text part. */
export function decodeAnnotations(value: JsonValue | undefined): Citation[] {
  return Array.isArray(value)
    ? value.filter(isJsonObject).map(decodeAnnotation)
    : [];
}

/** Parses one annotation. Other protocols support only annotations of the type `url_citation`. */
export function decodeAnnotation(annotation: JsonObject): Citation {
  const raw = { protocol: "responses", value: annotation } as const;
  const { type, url, title, start_index, end_index } = annotation;
  if (type !== "url_citation" || typeof url !== "string") return { raw };
  return {
    url,
    title: typeof title === "string" ? title : undefined,
    startIndex: typeof start_index === "number" ? start_index : undefined,
    endIndex: typeof end_index === "number" ? end_index : undefined,
    raw,
  };
}

/**
 * Returns a citation as an annotation, or `undefined` if the citation names no page. If the citation has no offsets,
 * the annotation covers all of `text`.
 */
export function encodeAnnotation(
  citation: Citation,
  text: string,
): JsonObject | undefined {
  const { raw, url, title, startIndex, endIndex } = citation;
  if (raw?.protocol === "responses") return raw.value;
  if (url === undefined) return undefined;
  return {
    type: "url_citation",
    url,
    title: title ?? url,
    start_index: startIndex ?? 0,
    end_index: endIndex ?? text.length,
  };
}

/**
 * Returns the facts of a message item that other protocols support.
 *
 * @param isFirst True when no block precedes the message.
 */
export function messageHead(
  { phase }: JsonObject,
  isFirst: boolean,
): MessageHead | undefined {
  if (typeof phase === "string") return { phase };
  return isFirst ? undefined : {};
}
