import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type {
  Block,
  FileBlock,
  ImageBlock,
  OpaqueBlock,
  TextBlock,
} from "../../canonical/content/block.ts";
import { dataUrl, defaultFileName } from "../../canonical/request/media.ts";
import { dropBlock, type LossWeight } from "../../canonical/request/loss.ts";
import { encodeCache, metadataObject } from "../fields.ts";
import type { Scope } from "../dialect.ts";

/**
 * Encodes the content of a message or a result as `input_…` parts. Reports each block for which there is no such part.
 */
export function encodeInputParts(
  blocks: readonly Block[],
  scope: Scope,
): JsonObject[] {
  return blocks.flatMap(withContext).map((block) =>
    encodeInputPart(block, scope)
  ).filter((part) => part !== undefined);
}

/** Adds the `context` of a file as a text before the file. */
function withContext(block: Block): Block[] {
  return block.kind === "file" && block.context !== undefined
    ? [{ kind: "text", text: block.context }, block]
    : [block];
}

function encodeInputPart(block: Block, scope: Scope): JsonObject | undefined {
  const part = bareInputPart(block, scope);
  if (part === undefined || scope.dialect.ability.cacheMarks === "none") {
    return part;
  }
  return "cache" in block ? { ...part, ...encodeCache(block.cache) } : part;
}

function bareInputPart(block: Block, scope: Scope): JsonObject | undefined {
  switch (block.kind) {
    case "text":
    case "refusal":
      return inputText(block.text);
    case "image":
      return encodeImage(block, scope);
    case "file":
      return encodeFile(block, scope);
    case "opaque":
      if (block.protocol === "responses" && isJsonObject(block.value)) {
        return block.value;
      }
      if (block.text !== undefined) return inputText(block.text);
      return drop(block, scope);
    default:
      return drop(block, scope);
  }
}

/** Returns a text part. An empty text is left out, because some providers reject it. */
function inputText(text: string): JsonObject | undefined {
  return text === "" ? undefined : { type: "input_text", text };
}

/**
 * Encodes a block of the model as an `output_text` or `refusal` part. A message of the model may hold only these parts.
 */
export function encodeOutputPart(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "text":
      return block.text === "" ? undefined : outputText(block);
    case "refusal":
      return block.text === ""
        ? undefined
        : { type: "refusal", refusal: block.text };
    case "opaque":
      return encodeOpaquePart(block, scope);
    default:
      return drop(block, scope, "report");
  }
}

function outputText(block: TextBlock): JsonObject {
  const part = metadataObject(block, "part");
  const annotations = (block.citations ?? []).flatMap(({ raw }) =>
    raw?.protocol === "responses" ? [raw.value] : []
  );
  return {
    type: "output_text",
    text: block.text,
    ...(annotations.length === 0 ? {} : { annotations }),
    ...part,
  };
}

function encodeOpaquePart(
  block: OpaqueBlock,
  scope: Scope,
): JsonObject | undefined {
  if (block.protocol === "responses" && isJsonObject(block.value)) {
    return block.value;
  }
  if (block.text !== undefined) {
    return { type: "output_text", text: block.text };
  }
  return drop(block, scope);
}

function encodeImage(block: ImageBlock, scope: Scope): JsonObject | undefined {
  const { source, detail } = block;
  const rest = detail === undefined ? {} : { detail };
  switch (source.type) {
    case "base64":
      return { type: "input_image", image_url: dataUrl(source), ...rest };
    case "url":
      return { type: "input_image", image_url: source.url, ...rest };
    case "id":
      if (source.store !== "openai") return rejectSource("image", scope);
      return { type: "input_image", file_id: source.id, ...rest };
  }
}

function encodeFile(block: FileBlock, scope: Scope): JsonObject | undefined {
  const { source, name } = block;
  const filename = name === undefined ? {} : { filename: name };
  switch (source.type) {
    case "base64":
      return {
        type: "input_file",
        filename: name ?? defaultFileName(source.mediaType),
        file_data: dataUrl(source),
      };
    case "url":
      return { type: "input_file", file_url: source.url, ...filename };
    case "id":
      if (source.store !== "openai") return rejectSource("file", scope);
      return { type: "input_file", file_id: source.id, ...filename };
    case "text":
      return inputText(
        name === undefined ? source.text : `${name}\n\n${source.text}`,
      );
  }
}

function rejectSource(kind: string, { context }: Scope): undefined {
  context.reportDropped(
    "messages",
    `another provider stores the ${kind}; send its content or its address`,
    "reject",
  );
}

/** Reports a block that the protocol cannot express. */
export function drop(
  block: Block,
  { context }: Scope,
  weight?: LossWeight,
): undefined {
  return dropBlock(block, "Responses", context, weight);
}
