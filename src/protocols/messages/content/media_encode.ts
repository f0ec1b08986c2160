import type { JsonObject } from "../../../core/json.ts";
import type {
  FileBlock,
  ImageBlock,
  MediaSource,
} from "../../canonical/answer/block.ts";
import type { Scope } from "../dialect.ts";

const IMAGE_TYPES: ReadonlySet<string> = new Set([
  "image/jpeg",
  "image/png",
  "image/gif",
  "image/webp",
]);
const PDF_TYPE = "application/pdf";

/** Writes an image; `undefined` after reporting one that upstreams cannot see. */
export function encodeImage(
  block: ImageBlock,
  scope: Scope,
): JsonObject | undefined {
  const { source, detail } = block;
  const cache = scope.cache.write(block.cache);
  if (detail !== undefined && detail !== "auto") loseDetail(scope);
  if (source.type === "base64" && !IMAGE_TYPES.has(source.mediaType)) {
    return refuse(`an image of the type ${source.mediaType}`, scope);
  }
  const wire = encodeSource(source, "an image", scope);
  if (wire === undefined) return undefined;
  return {
    ...(block.marks?.messages ?? {}),
    type: "image",
    source: wire,
    ...cache,
  };
}

/** Writes a document: PDF, or text. `undefined` after reporting another kind of file. */
export function encodeFile(
  block: FileBlock,
  scope: Scope,
): JsonObject | undefined {
  const cache = scope.cache.write(block.cache);
  const source = encodeDocumentSource(block.source, scope);
  if (source === undefined) return undefined;
  return {
    ...(block.marks?.messages ?? {}),
    type: "document",
    source,
    ...(block.name === undefined ? {} : { title: block.name }),
    ...cache,
  };
}

function encodeDocumentSource(
  source: FileBlock["source"],
  scope: Scope,
): JsonObject | undefined {
  if (source.type === "text") return textSource(source.text);
  if (source.type === "base64" && source.mediaType !== PDF_TYPE) {
    const text = isTextType(source.mediaType)
      ? decodeBase64Text(source.data)
      : undefined;
    return text === undefined
      ? refuse(`a file of the type ${source.mediaType}`, scope)
      : textSource(text);
  }
  return encodeSource(source, "a file", scope);
}

function encodeSource(
  source: MediaSource,
  what: "an image" | "a file",
  scope: Scope,
): JsonObject | undefined {
  switch (source.type) {
    case "base64":
      return {
        type: "base64",
        media_type: source.mediaType,
        data: source.data,
      };
    case "url":
      return { type: "url", url: source.url };
    case "id":
      return source.store === "anthropic"
        ? { type: "file", file_id: source.id }
        : refuse(
          `the content of ${what} from another provider's store`,
          scope,
        );
  }
}

function textSource(text: string): JsonObject {
  return { type: "text", media_type: "text/plain", data: text };
}

function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || mediaType === "application/json";
}

function decodeBase64Text(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function loseDetail({ context }: Scope): void {
  context.lose({
    field: { extra: "detail" },
    weight: "hint",
    reason: "this model's provider chooses the resolution itself",
  });
}

function refuse(what: string, { context }: Scope): undefined {
  context.lose({
    field: "messages",
    weight: "answer",
    reason: `this model's provider does not take ${what}`,
  });
}
