import type { Block, FileBlock, ImageBlock } from "../answer/block.ts";
import type { CanonicalRequest } from "./request.ts";

/** A rough figure for text in English; good enough for a number that the upstream corrects later. */
const BYTES_PER_TOKEN = 4;

/**
 * What a picture costs at most in its usual size, in tokens
 * (https://platform.claude.com/docs/en/build-with-claude/vision).
 */
const TOKENS_PER_IMAGE = 1600;

/**
 * What a document of a few pages costs, in tokens (https://platform.claude.com/docs/en/build-with-claude/pdf-support).
 */
const TOKENS_PER_FILE = 3000;

/** What a minute of speech costs, in tokens. */
const TOKENS_PER_SOUND = 1000;

/**
 * A rough count of a request's tokens. Pictures, files and sound count for what they show, not for the length of
 * their base64.
 *
 * @param bytes The length of the caller's body.
 */
export function estimateTokens(
  bytes: number,
  { turns }: Pick<CanonicalRequest, "turns">,
): number {
  const media = turns.flatMap(({ blocks }) => blocks).flatMap(mediaIn);
  const hidden = media.reduce((sum, { length }) => sum + length, 0);
  const shown = media.reduce((sum, { tokens }) => sum + tokens, 0);
  return Math.ceil(Math.max(0, bytes - hidden) / BYTES_PER_TOKEN) + shown;
}

/** Something that is no text: its length in the body, and what it costs instead. */
interface Medium {
  readonly length: number;
  readonly tokens: number;
}

function mediaIn(block: Block): readonly Medium[] {
  switch (block.kind) {
    case "image":
      return [{ length: base64Length(block), tokens: TOKENS_PER_IMAGE }];
    case "file":
      return block.source.type === "text"
        ? []
        : [{ length: base64Length(block), tokens: TOKENS_PER_FILE }];
    case "audio":
      return [{ length: block.data.length, tokens: TOKENS_PER_SOUND }];
    case "tool_result":
      return block.content.flatMap(mediaIn);
    case "opaque":
      return (block.content ?? []).flatMap(mediaIn);
    default:
      return [];
  }
}

function base64Length({ source }: ImageBlock | FileBlock): number {
  return source.type === "base64" ? source.data.length : 0;
}
