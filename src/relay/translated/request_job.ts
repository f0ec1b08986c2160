import { GatewayError } from "../../core/error.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import {
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";
import {
  type Block,
  type FileBlock,
  type ImageBlock,
  isToolCall,
} from "../../protocols/canonical/content/block.ts";
import {
  type Bound,
  maySend,
} from "../../protocols/canonical/content/sealed.ts";
import {
  type RememberedReasoning,
  restoreReasoning,
} from "../../protocols/canonical/answer/remembered_reasoning.ts";
import type { CallerCodec, Target } from "../../protocols/canonical/codec.ts";
import type { CanonicalRequest } from "../../protocols/canonical/request/request.ts";
import type { ToolAliases } from "../../protocols/canonical/tools/bridge_tools.ts";
import { completionsCodec } from "../../protocols/completions/mod.ts";
import { keptRequest } from "../../protocols/kept_request.ts";
import { CODECS } from "../../protocols/mod.ts";
import { responsesInChatCodec } from "../../protocols/responses_in_chat/mod.ts";
import {
  type ReadRequest,
  readRequest,
  writeRequest,
} from "../../protocols/translate_request.ts";

/*
 * What translating a body comes down to: plain data in, plain data out, nothing else touched. So it can be done
 * here or in another thread, and the bytes are the same.
 */

/** A request to translate. */
export interface RequestJob extends CallerForm {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The model that the caller asks for, and whether for a stream, wherever the request says so. */
  readonly model: string;
  readonly stream: boolean;
  /** The upstream's. */
  readonly to: Protocol;
  readonly target: Target;
  /** Whether every loss refuses the request. */
  readonly strict: boolean;
  /** Whether the upstream is asked for a stream even if the caller wants JSON. */
  readonly streamOnly: boolean;
  /** Fields of the upstream's body to set. */
  readonly force: Readonly<JsonObject>;
  /** Fields of the upstream's body to remove. */
  readonly omit: readonly string[];
  /** The calls of the caller for which there is reasoning to recall. */
  readonly recallable: ReadonlySet<string>;
  /** The digests of the caller's reasoning that was refused. */
  readonly refused: ReadonlySet<string>;
}

/** A request in the upstream's protocol, and what its answer needs. */
export interface TranslatedBody {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether it asks the upstream for a stream. */
  readonly stream: boolean;
  /** What of the caller's request the encoder of the answer looks at. */
  readonly request: CanonicalRequest;
  /** For `restoreTools`. */
  readonly aliases: ToolAliases;
  /** The strings at which the answer must be cut. */
  readonly cuts: readonly string[];
  /** A rough count of the request's tokens. */
  readonly estimatedInputTokens: number;
  /** What was dropped, in the caller's spelling. */
  readonly dropped: ReadonlySet<string>;
  /** The digests of the earlier reasoning that it carries, sealed. */
  readonly reasoning: readonly string[];
  /** What the answer's reasoning is bound to; absent where the upstream binds it to nothing. */
  readonly bound?: Bound | undefined;
  /** Why earlier reasoning was left out, in a word; absent where none was. */
  readonly reasoningDropped?: string | undefined;
}

/** The reasoning that is kept for calls, by their ids. */
export type RecalledReasoning = ReadonlyMap<string, RememberedReasoning>;

/** Fetches reasoning that is kept for calls. */
export type Recall = (
  callIds: readonly string[],
) => RecalledReasoning | Promise<RecalledReasoning>;

/**
 * Translates a request.
 *
 * @throws {GatewayError} `invalid_request`: the request is wrong, or something that changes the answer cannot be
 * carried.
 */
export async function translateBody(
  job: RequestJob,
  recall: Recall,
): Promise<TranslatedBody> {
  const from = callerCodec(job);
  const parsed = parseJson(decoder.decode(job.body));
  if (!isJsonObject(parsed)) throw noObject();
  const read = withHead(readRequest(parsed, from), job);
  const callIds = recallableIn(read.request, job.recallable);
  const reasoning = callIds.length === 0 ? undefined : await recall(callIds);
  const { body, request, ...written } = writeRequest(read, {
    ...job,
    to: CODECS[job.to],
    prepare: reasoning && ((read) => ({
      ...read,
      turns: restoreReasoning(read.turns, {
        recall: (callId) => reasoning.get(callId),
        maySend: (sealed) =>
          maySend(sealed, {
            protocol: job.to,
            connectionId: job.target.connectionId,
          }),
      }),
    })),
  });
  return {
    ...written,
    body: encoder.encode(JSON.stringify(body)),
    stream: isStreamAsked(body, read.request, job),
    request: keptRequest(request, from),
    estimatedInputTokens: estimateTokens(job.body.length, request),
  };
}

/** What the path of a request says cannot be read in its body. */
function withHead(
  read: ReadRequest,
  { operation, model, stream }: RequestJob,
): ReadRequest {
  const { modelField, streamField } = OPERATIONS[operation];
  if (modelField !== undefined && streamField !== undefined) return read;
  return { ...read, request: { ...read.request, model, stream } };
}

/** Whether an upstream is asked for a stream, of which the connection may have its say in the body. */
function isStreamAsked(
  body: JsonObject,
  { stream }: CanonicalRequest,
  { to, streamOnly }: RequestJob,
): boolean {
  const { streamField } = OPERATIONS[MAIN_OPERATIONS[to]];
  return streamField === undefined
    ? stream || streamOnly
    : body[streamField] === true;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

function noObject(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: it is not one JSON object",
  );
}

function recallableIn(
  { turns }: CanonicalRequest,
  recallable: ReadonlySet<string>,
): readonly string[] {
  if (recallable.size === 0) return [];
  const ids = turns.flatMap(({ blocks }) => blocks).filter(isToolCall)
    .map(({ id }) => id);
  return [...new Set(ids)].filter((id) => recallable.has(id));
}

/** What a caller asks for. */
export interface CallerForm {
  readonly operation: Operation;
  /** The protocol of the caller's body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
}

/** How the callers of an operation are read and written. */
export function callerCodec(
  { operation, bodyProtocol }: CallerForm,
): CallerCodec {
  if (bodyProtocol === "responses" && operation === "chat_completions") {
    return responsesInChatCodec;
  }
  return operation === "completions"
    ? completionsCodec
    : CODECS[OPERATIONS[operation].protocol];
}

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
