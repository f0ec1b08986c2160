import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type {
  FileBlock,
  ImageBlock,
  MediaSource,
  OpaqueBlock,
  TextBlock,
} from "../../canonical/answer/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { innerSettings } from "../../canonical/request/extras.ts";
import { normalMediaType } from "../../canonical/request/media.ts";
import { decodeCache } from "../request/cache.ts";
import {
  demandText,
  marksOf,
  objectsIn,
  optionalText,
} from "../request/fields.ts";

const IMAGE_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "source",
  "cache_control",
]);
const DOCUMENT_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "source",
  "title",
  "cache_control",
]);

/**
 * Reads an `image` block.
 *
 * @throws {GatewayError} `invalid_request` naming the field.
 */
export function decodeImage(block: JsonObject, param: string): ImageBlock {
  return {
    kind: "image",
    source: decodeSource(block.source, `${param}.source`),
    cache: decodeCache(block),
    settings: innerSettings("messages", {
      "messages.image.transformations": refusesOversize(block),
    }),
    marks: marksOf(block, IMAGE_FIELDS),
  };
}

/** Whether a picture that is too large shall be refused rather than scaled down. */
function refusesOversize({ transformations }: JsonObject): boolean {
  return isJsonObject(transformations) &&
    transformations.oversized_image === "error";
}

/**
 * Reads a `document` block. One whose source is a list of blocks is kept as it is, since no other protocol has
 * such a thing; its text can be read.
 *
 * @throws {GatewayError} `invalid_request` naming the field.
 */
export function decodeDocument(
  block: JsonObject,
  param: string,
): FileBlock | OpaqueBlock {
  const source = isJsonObject(block.source) ? block.source : {};
  if (source.type === "content") {
    return decodeContentDocument(block, source, param);
  }
  return {
    kind: "file",
    source: source.type === "text"
      ? { type: "text", text: demandText(source.data, `${param}.source.data`) }
      : decodeSource(block.source, `${param}.source`),
    name: optionalText(block.title),
    context: optionalText(block.context),
    isCited: isCited(block),
    cache: decodeCache(block),
    marks: marksOf(block, DOCUMENT_FIELDS),
  };
}

function isCited({ citations }: JsonObject): boolean | undefined {
  return isJsonObject(citations) && citations.enabled === true
    ? true
    : undefined;
}

function decodeSource(
  value: JsonObject["source"],
  param: string,
): MediaSource {
  const source = isJsonObject(value) ? value : {};
  switch (source.type) {
    case "base64":
      return {
        type: "base64",
        mediaType: normalMediaType(
          demandText(source.media_type, `${param}.media_type`),
        ),
        data: demandText(source.data, `${param}.data`),
      };
    case "url":
      return { type: "url", url: demandText(source.url, `${param}.url`) };
    case "file":
      return {
        type: "id",
        store: "anthropic",
        id: demandText(source.file_id, `${param}.file_id`),
      };
    default:
      throw invalidField(
        `${param}.type`,
        "is none of base64, url, file, text, content",
      );
  }
}

function decodeContentDocument(
  block: JsonObject,
  source: JsonObject,
  param: string,
): OpaqueBlock {
  const heads = [block.title, block.context].filter((text) =>
    typeof text === "string"
  );
  const parts = typeof source.content === "string"
    ? [{ type: "text", text: source.content }]
    : objectsIn(source.content);
  const content = [
    ...heads.map((text): TextBlock => ({ kind: "text", text })),
    ...parts.map((part, index) =>
      decodeContentPart(part, `${param}.source.content[${index}]`)
    ),
  ];
  return {
    kind: "opaque",
    protocol: "messages",
    type: "document",
    value: block,
    text: content.every(isText)
      ? content.map(({ text }) => text).join("\n\n")
      : undefined,
    content: content.every(isText) ? undefined : content,
    weight: "answer",
  };
}

function decodeContentPart(
  part: JsonObject,
  param: string,
): TextBlock | ImageBlock {
  switch (part.type) {
    case "text":
      return { kind: "text", text: demandText(part.text, `${param}.text`) };
    case "image":
      return decodeImage(part, param);
    default:
      throw invalidField(`${param}.type`, "is none of text, image");
  }
}

function isText(block: TextBlock | ImageBlock): block is TextBlock {
  return block.kind === "text";
}
