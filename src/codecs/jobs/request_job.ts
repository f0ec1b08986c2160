import { GatewayError } from "@gateway/base/error";
import { isJsonObject, type JsonObject, parseJson } from "@gateway/base/json";
import {
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
} from "@gateway/base/protocol";
import {
  type RememberedReasoning,
  restoreReasoning,
} from "../canonical/answer/remembered_reasoning.ts";
import type { CallerCodec, Target } from "../canonical/codec.ts";
import {
  type Block,
  type FileBlock,
  type ImageBlock,
  isToolCall,
} from "../canonical/content/block.ts";
import { maySend } from "../canonical/content/sealed.ts";
import type { CanonicalRequest } from "../canonical/request/request.ts";
import type { AnswerEdits } from "../canonical/tools/restore_tools.ts";
import { CODECS } from "../codecs.ts";
import { completionsCodec } from "../completions/mod.ts";
import { narrowest } from "../dialects/apply_lessons.ts";
import { merged } from "../dialects/lesson_sets.ts";
import { type Lesson, lessonText, probeOf } from "../dialects/lessons.ts";
import { type FieldRefusal, lessonsIn } from "../dialects/read_refusal.ts";
import { keptRequest } from "../kept_request.ts";
import { responsesInChatCodec } from "../responses_in_chat/mod.ts";
import {
  type ReadRequest,
  readRequest,
  writeRequest,
} from "../translate_request.ts";

/*
 * The translation of a body is a pure function of plain data. So it can run on this thread or on another, with the same
 * bytes.
 */

/** A request to translate. */
export interface RequestJob extends CallerForm {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The model and the stream flag, from the path or the body of the caller's request. */
  readonly model: string;
  readonly stream: boolean;
  /** The upstream's protocol. */
  readonly to: Protocol;
  readonly target: Target;
  /** True to reject a request in place of dropping a field. */
  readonly strict: boolean;
  /** True when the upstream must stream even if the caller wants JSON. */
  readonly streamOnly: boolean;
  /** Fields of the upstream's body to set. */
  readonly force: Readonly<JsonObject>;
  /** Fields of the upstream's body to remove. */
  readonly omit: readonly string[];
  /** What earlier refusals have taught about the target. */
  readonly lessons: readonly Lesson[];
  /**
   * The refusal of an earlier body. `lessons` had been applied to that body. What this refusal teaches is applied too.
   */
  readonly refusal?: FieldRefusal | undefined;
  /** True to send one suspected part again, to find the cause of an earlier refusal; default: false. */
  readonly probes?: boolean | undefined;
  /** The ids of the caller's calls whose reasoning is stored. */
  readonly recallable: ReadonlySet<string>;
  /** The digests of the caller's reasoning that a provider refused. */
  readonly refused: ReadonlySet<string>;
}

/** A request in the upstream's protocol, and the data that is needed to translate its answer. */
export interface TranslatedBody extends AnswerEdits {
  readonly body: Uint8Array<ArrayBuffer>;
  /** True when the body requests a stream from the upstream. */
  readonly stream: boolean;
  /** The fields of the caller's request that the encoder of the answer reads. */
  readonly request: CanonicalRequest;
  /** A rough count of the request's tokens. */
  readonly estimatedInputTokens: number;
  /** The dropped fields, in the caller's spelling. */
  readonly dropped: ReadonlySet<string>;
  /** The lessons that changed the request. */
  readonly lessons: readonly Lesson[];
  /** The `lessons` that `refusal` taught. */
  readonly learned: readonly Lesson[];
  /** The lessons about suspected fields that were not applied, because the job `probes`. */
  readonly probe: readonly Lesson[];
  /** The digests of the sealed reasoning in `body`. */
  readonly reasoning: readonly string[];
  /** A word that says why earlier reasoning was left out; absent if no reasoning was left out. */
  readonly reasoningDropped?: string | undefined;
}

/** The reasoning stored for calls, by their ids. */
type RecalledReasoning = ReadonlyMap<string, RememberedReasoning>;

/** Fetches the reasoning stored for calls. */
export type Recall = (
  callIds: readonly string[],
) => RecalledReasoning | Promise<RecalledReasoning>;

/**
 * Translates a request.
 *
 * @param onParsed Called when the bytes of the body are no longer needed.
 * @throws {GatewayError} `invalid_request` when the request is invalid, or when dropping a field would change the
 * answer.
 */
export async function translateBody(
  job: RequestJob,
  recall: Recall,
  onParsed: () => void = () => {},
): Promise<TranslatedBody> {
  const from = callerCodec(job);
  const { length } = job.body;
  const parsed = parseBody(job.body);
  onParsed();
  const read = withHead(readRequest(parsed, from), job);
  const callIds = recallableIn(read.request, job.recallable);
  const reasoning = callIds.length === 0 ? undefined : await recall(callIds);
  const write = (lessons: readonly Lesson[]) =>
    writeRequest(read, {
      ...job,
      lessons,
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
  const before = write(job.lessons);
  const mayBePlain = !job.lessons.some(({ move }) => move === "plain");
  const taught = job.refusal === undefined
    ? []
    : lessonsIn(job.refusal, job.to, before.body)
      .map((lesson) => narrowest(lesson, before.body))
      .filter(({ cause }) => cause === undefined || mayBePlain);
  const probe = job.probes ? probeOf(before.lessons) : [];
  const { body, request, ...written } = probe.length > 0
    ? write(job.lessons.filter((one) => !probe.includes(one)))
    : taught.length === 0
    ? before
    : write(merged(job.lessons, taught));
  const known = new Set(before.lessons.map(lessonText));
  const named = new Set(taught.map(lessonText));
  return {
    ...written,
    probe,
    learned: written.lessons.filter((one) =>
      named.has(lessonText(one)) && !known.has(lessonText(one))
    ),
    body: encoder.encode(JSON.stringify(body)),
    stream: requestsStream(body, read.request, job),
    request: keptRequest(request, from),
    estimatedInputTokens: estimateTokens(length, request),
  };
}

/** Adds the model and the stream flag from the path, if the body of this operation lacks a field for one of them. */
function withHead(
  read: ReadRequest,
  { operation, model, stream }: RequestJob,
): ReadRequest {
  const { modelField, streamField } = OPERATIONS[operation];
  if (modelField !== undefined && streamField !== undefined) return read;
  return { ...read, request: { ...read.request, model, stream } };
}

/**
 * Returns true when the upstream's body requests a stream. The settings of a connection may set or remove the field for
 * streams, so the body decides.
 */
function requestsStream(
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

/** Parses the body of a request. Throws `invalid_request` when the body is not one JSON object. */
export function parseBody(bytes: Uint8Array): JsonObject {
  const parsed = parseJson(decoder.decode(bytes));
  if (isJsonObject(parsed)) return parsed;
  throw new GatewayError(
    "invalid_request",
    "Cannot read the body: it is not exactly one JSON object. Send one.",
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

/** The protocol in which a caller sends its request. */
export interface CallerForm {
  readonly operation: Operation;
  /** The protocol of the caller's body, if the operation does not define it. */
  readonly bodyProtocol?: Protocol | undefined;
}

/** Returns the codec for the callers of an operation. */
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

/**
 * The bytes of a token. This is a rough value for English text. The usage from the upstream replaces the estimate
 * later.
 */
const BYTES_PER_TOKEN = 4;

/**
 * The most tokens that a picture of the usual size counts
 * (https://platform.claude.com/docs/en/build-with-claude/vision).
 */
const TOKENS_PER_IMAGE = 1600;

/** The tokens of a document of a few pages (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
const TOKENS_PER_FILE = 3000;

/** The tokens of a minute of speech. */
const TOKENS_PER_SOUND = 1000;

/**
 * Estimates a request's tokens. Pictures, files and sound count by their content, not by the length of their base64.
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

/** A part that is not text: its length in the body, and its tokens. */
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
