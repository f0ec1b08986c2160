import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "@gateway/base/json";
import type {
  Block,
  FileBlock,
  ImageBlock,
  OpaqueBlock,
  TextBlock,
} from "../../canonical/content/block.ts";
import { dropBlock, type LossWeight } from "../../canonical/request/loss.ts";
import { dataUrl, defaultFileName } from "../../canonical/request/media.ts";
import { encodeCache, type Scope } from "../dialect.ts";

/**
 * Returns true if a block cannot be part of the text and needs a message part of its own. Only user messages may have
 * such parts.
 */
export function isAttachment<One extends Block>(
  block: One,
): block is Extract<One, { kind: "image" | "file" | "audio" }> {
  return block.kind === "image" || block.kind === "audio" ||
    block.kind === "file" && block.source.type !== "text";
}

/**
 * Returns the `content` for blocks. If one string keeps everything that the provider supports, returns a string.
 * Otherwise returns a list of parts.
 */
export function encodeParts(blocks: readonly Block[], scope: Scope): JsonValue {
  const [first] = blocks;
  const isText = blocks.every((block) => textOf(block) !== undefined);
  const isMarked = scope.dialect.ability.cacheMarks !== "none" &&
    blocks.some(hasCache);
  if (isText && !isMarked && (blocks.length < 2 || !scope.dialect.textParts)) {
    return first === undefined ? "" : joinText(blocks, scope, "\n\n");
  }
  return blocks.flatMap(withContext).map((block) => encodePart(block, scope))
    .filter((part) => part !== undefined);
}

/** Adds the `context` of a file as a text before the file. */
function withContext(block: Block): Block[] {
  if (block.kind !== "file" || block.context === undefined) return [block];
  if (block.source.type === "text") return [block];
  return [{ kind: "text", text: block.context }, block];
}

/** Returns the texts of a system message. Reports each block without text as dropped. */
export function systemText(
  blocks: readonly Block[],
  scope: Scope,
): TextBlock[] {
  return blocks.flatMap((block): TextBlock[] => {
    const text = textOf(block) ?? drop(block, scope) ?? "";
    if (text === "") return [];
    const cache = "cache" in block ? block.cache : undefined;
    return [{ kind: "text", text, cache }];
  });
}

/**
 * Joins the texts of blocks to one string. Reports each block without text as dropped. By default, nothing is inserted
 * between the texts, because some protocols split a sentence at each citation.
 *
 * @param weight The weight of losing a block without text.
 */
export function joinText(
  blocks: readonly Block[],
  scope: Scope,
  separator = "",
  weight?: LossWeight,
): string {
  return blocks.map((block) => textOf(block) ?? drop(block, scope, weight))
    .filter(Boolean).join(separator);
}

function drop(
  block: Block,
  { context }: Scope,
  weight?: LossWeight,
): undefined {
  dropBlock(block, "Chat Completions", context, weight);
}

/** Returns the text of a block, as far as Chat Completions can express it. */
export function textOf(block: Block): string | undefined {
  switch (block.kind) {
    case "text":
    case "refusal":
      return block.text;
    case "file":
      return block.source.type === "text"
        ? paragraphs([block.name, block.context, block.source.text])
        : undefined;
    case "opaque":
      return block.protocol === "chat" ? undefined : block.text;
    default:
      return undefined;
  }
}

function paragraphs(texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join("\n\n");
}

function hasCache(block: Block): boolean {
  return "cache" in block && block.cache !== undefined;
}

function encodePart(block: Block, scope: Scope): JsonObject | undefined {
  const cache = "cache" in block ? encodeCache(block.cache, scope.dialect) : {};
  const text = textOf(block);
  if (text !== undefined) {
    return text === "" ? undefined : { type: "text", text, ...cache };
  }
  switch (block.kind) {
    case "image":
      return withCache(encodeImage(block, scope), cache);
    case "file":
      return withCache(encodeFile(block, scope), cache);
    case "audio":
      return {
        type: "input_audio",
        input_audio: { data: block.data, format: block.format },
      };
    case "opaque":
      return encodeOpaque(block, scope);
    default:
      return drop(block, scope);
  }
}

function withCache(
  part: JsonObject | undefined,
  cache: JsonObject,
): JsonObject | undefined {
  return part === undefined ? undefined : { ...part, ...cache };
}

function encodeImage(block: ImageBlock, scope: Scope): JsonObject | undefined {
  const { source } = block;
  if (source.type === "id") return rejectSource("an image", scope);
  const url = source.type === "url" ? source.url : dataUrl(source);
  return {
    type: "image_url",
    image_url: { url, ...present({ detail: encodeDetail(block, scope) }) },
  };
}

/**
 * The resolutions that every provider of Chat Completions accepts. Source: `ChatCompletionContentPartImage.ImageURL` of
 * https://github.com/openai/openai-node
 */
const DETAILS: readonly unknown[] = ["auto", "low", "high"];

/**
 * The closest accepted resolution for each resolution of another protocol: `original` is Codex's, `xhigh` is Doubao's.
 * Sources: https://github.com/openai/codex/pull/13050, https://github.com/farion1231/cc-switch/issues/6495
 */
const CLOSEST_DETAIL: Readonly<Record<string, string>> = {
  original: "high",
  xhigh: "high",
};

function encodeDetail(
  { detail }: ImageBlock,
  { context }: Scope,
): string | undefined {
  if (detail === undefined || DETAILS.includes(detail)) return detail;
  context.reportDropped(
    { extra: "detail" },
    "this model's provider does not support this resolution",
  );
  return lookup(CLOSEST_DETAIL, detail);
}

function encodeFile(block: FileBlock, scope: Scope): JsonObject | undefined {
  const { source, name } = block;
  if (scope.dialect.filePart === "document_url" && source.type !== "id") {
    return encodeDocument(block);
  }
  switch (source.type) {
    case "base64":
      return {
        type: "file",
        file: {
          file_data: dataUrl(source),
          filename: name ?? defaultFileName(source.mediaType),
        },
      };
    case "id":
      if (source.store !== "openai") return rejectSource("a file", scope);
      return {
        type: "file",
        file: {
          file_id: source.id,
          ...(name === undefined ? {} : { filename: name }),
        },
      };
    default:
      return rejectSource("a file", scope);
  }
}

/** Returns Mistral's part for a file: https://docs.mistral.ai/capabilities/document/ */
function encodeDocument({ source, name }: FileBlock): JsonObject | undefined {
  const url = source.type === "url"
    ? source.url
    : source.type === "base64"
    ? dataUrl(source)
    : undefined;
  return url === undefined ? undefined : {
    type: "document_url",
    document_url: url,
    ...present({ document_name: name }),
  };
}

function rejectSource(
  what: "an image" | "a file",
  { context }: Scope,
): undefined {
  context.reportDropped(
    "messages",
    `this model's provider accepts the content of ${what} only inside the request`,
    "reject",
  );
}

function encodeOpaque(
  block: OpaqueBlock,
  scope: Scope,
): JsonObject | undefined {
  if (block.protocol === "chat" && isJsonObject(block.value)) {
    return block.value;
  }
  return drop(block, scope);
}
