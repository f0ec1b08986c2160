import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "@gateway/base/json";
import {
  type Block,
  type CacheMark,
  type FileBlock,
  isToolCall,
  type ResultContent,
} from "../../canonical/content/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { sourceOfFile, sourceOfUrl } from "../../canonical/request/media.ts";
import { givenArguments } from "../../canonical/tools/tool.ts";
import { decodeThinkingBlocks } from "../answer/reasoning_details.ts";
import { decodeCache } from "../dialect.ts";

/** The place of a list of parts in the request. */
interface PartsPlace {
  /** The path of the `content` field, for error messages. */
  readonly param: string;
  /** The object that contains the content. A cache mark on this object applies to the last block. */
  readonly cacheHolder: { readonly [key: string]: unknown };
}

/**
 * Parses a `content`, which is a string or a list of parts. Throws `invalid_request` with the path of an invalid part.
 * Cursor sends Claude's calls and results as blocks of Messages (https://github.com/automazeio/vibeproxy/issues/411).
 */
export function decodeParts(
  content: string | readonly JsonObject[] | undefined,
  place: PartsPlace,
): readonly Block[] {
  const cache = decodeCache(place.cacheHolder);
  if (content === undefined) return [];
  if (typeof content === "string") {
    return [{ kind: "text", text: content, cache }];
  }
  return content.map((part, index) =>
    decodePart(part, {
      param: `${place.param}[${index}]`,
      cache: decodeCache(part) ??
        (index === content.length - 1 ? cache : undefined),
    })
  );
}

interface PartPlace {
  readonly param: string;
  readonly cache: CacheMark | undefined;
}

function decodePart(part: JsonObject, place: PartPlace): Block {
  const { cache, param } = place;
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return { kind: "text", text: textIn(part.text, `${param}.text`), cache };
    case "refusal":
      return {
        kind: "refusal",
        text: textIn(part.refusal, `${param}.refusal`),
      };
    case "image_url":
      return decodeImage(part, place);
    case "image":
      return decodeImage({ image_url: urlOfSource(part, place) }, place);
    case "tool_use":
      return {
        kind: "function_call",
        id: textIn(part.id || undefined, `${param}.id`),
        name: textIn(part.name || undefined, `${param}.name`),
        arguments: givenArguments(part.input),
        cache,
      };
    case "tool_result":
      return decodeResult(part, place);
    case "file":
      return decodeFile(part, place);
    case "input_audio":
      return decodeAudio(part, place);
    case "thinking":
    case "redacted_thinking":
      return decodeThinkingBlocks([part])[0] ?? {
        kind: "reasoning",
        parts: [{ form: "raw", text: thinkingText(part.thinking) }],
      };
    default:
      if (typeof part.type !== "string") {
        throw invalidField(`${param}.type`, "is missing");
      }
      return {
        kind: "opaque",
        protocol: "chat",
        type: part.type,
        value: part,
        weight: "reject",
      };
  }
}

/** Parses a tool's result in the form of Messages. */
function decodeResult(part: JsonObject, { cache, param }: PartPlace): Block {
  const place = `${param}.content`;
  const content = part.content ?? "";
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw invalidField(place, "must be a string or a list of blocks");
  }
  const parts = typeof content === "string"
    ? content
    : content.map((one, index) => {
      if (isJsonObject(one)) return one;
      throw invalidField(`${place}[${index}]`, "must be an object");
    });
  const blocks = decodeParts(parts, { param: place, cacheHolder: {} });
  return {
    kind: "tool_result",
    callId: textIn(part.tool_use_id || undefined, `${param}.tool_use_id`),
    callKind: "function",
    content: resultContents(blocks, place),
    isError: part.is_error === true,
    cache,
  };
}

/**
 * Returns the blocks as the content of a tool's result. Throws `invalid_request` for a block that a result cannot hold.
 */
export function resultContents(
  blocks: readonly Block[],
  param: string,
): readonly ResultContent[] {
  return blocks.map((block, index) => {
    if (isResultContent(block)) return block;
    throw invalidField(
      `${param}[${index}]`,
      "must be text, an image or a file",
    );
  });
}

/** Returns true for a part that the result of a tool may hold. */
function isResultContent(block: Block): block is ResultContent {
  return !isToolCall(block) && block.kind !== "reasoning" &&
    block.kind !== "tool_result" &&
    block.kind !== "refusal" && block.kind !== "audio";
}

/** Returns the URL of an image in the form of Messages. */
function urlOfSource(part: JsonObject, { param }: PartPlace): string {
  const { media_type, data, url } = objectOf(part.source);
  if (typeof url === "string") return url;
  if (typeof media_type === "string" && typeof data === "string") {
    return `data:${media_type};base64,${data}`;
  }
  throw invalidField(`${param}.source`, "must have a URL, or a type and data");
}

function decodeImage(part: JsonObject, { param, cache }: PartPlace): Block {
  const holder = isJsonObject(part.image_url)
    ? part.image_url
    : { url: part.image_url };
  const source = sourceOfUrl(textIn(holder.url, `${param}.image_url.url`));
  if (source === undefined) {
    throw invalidField(
      `${param}.image_url.url`,
      "is a data URL without base64 content",
    );
  }
  const detail = typeof holder.detail === "string" ? holder.detail : undefined;
  return { kind: "image", source, detail, cache };
}

function decodeFile(part: JsonObject, { param, cache }: PartPlace): FileBlock {
  const file = isJsonObject(part.file) ? part.file : {};
  const name = typeof file.filename === "string" ? file.filename : undefined;
  if (typeof file.file_id === "string") {
    return {
      kind: "file",
      source: { type: "id", store: "openai", id: file.file_id },
      name,
      cache,
    };
  }
  const source = sourceOfFile(
    textIn(file.file_data, `${param}.file.file_data`),
    name,
  );
  if (source === undefined) {
    throw invalidField(
      `${param}.file.file_data`,
      "is a data URL without base64 content",
    );
  }
  return { kind: "file", source, name, cache };
}

function decodeAudio(part: JsonObject, { param }: PartPlace): Block {
  const audio = isJsonObject(part.input_audio) ? part.input_audio : {};
  return {
    kind: "audio",
    format: textIn(audio.format, `${param}.input_audio.format`),
    data: textIn(audio.data, `${param}.input_audio.data`),
  };
}

/** Returns the text of Mistral's reasoning in a part of the content. The value is a text or a list of text parts. */
export function thinkingText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  )
    .join("");
}

function textIn(value: JsonValue | undefined, param: string): string {
  if (typeof value !== "string") throw invalidField(param, "is missing");
  return value;
}
