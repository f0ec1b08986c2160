import { GatewayError } from "../../core/error.ts";
import {
  type Operation,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationShape,
  type Protocol,
} from "../../core/protocol.ts";
import type { ByteSpan } from "../../json_scan/key.ts";
import { type FoundValue, JsonObjectScan } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import { bodyPieces, type HeldBody } from "./held_body.ts";
import {
  createNamedModels,
  type NamedModel,
  type NamedModels,
  namingFields,
} from "./named_models.ts";

/** What a request asks for, found without parsing its body. */
export interface RequestHead {
  readonly model: string;
  /** Where the model's name stands in the body, quotes included; `undefined` where the path names it. */
  readonly modelSpan: ByteSpan | undefined;
  readonly stream: boolean;
  /** Whether a body for Chat Completions has an `input`, as those of Responses have. */
  readonly hasInput: boolean;
  /** The field by which it asks for an answer that is fetched later; `undefined` if it waits for its answer. */
  readonly deferredBy: string | undefined;
  /** What it names in fields by which an upstream could choose another model. */
  readonly namedModels: readonly NamedModel[];
  /** How much the body is made of. */
  readonly shape: BodyShape;
  /** A rough count of the body's tokens. */
  readonly estimatedTokens: number;
}

/** What tells how much work and memory a body takes that is parsed. */
export interface BodyShape {
  /** How many objects, arrays and members it holds. */
  readonly values: number;
  /** How many levels of objects and arrays it has. */
  readonly depth: number;
}

/** What the path of a request asks for. */
export interface PathHead {
  readonly operation: Operation;
  /** The model that it names; `undefined` where the body does. */
  readonly pathModel?: string | undefined;
  /** Whether it asks for a stream; absent where the body says. */
  readonly pathStream?: boolean | undefined;
}

/** Finds out what a request asks for while its body is read. */
interface RequestHeadReader {
  /** Sees the next piece and keeps nothing of it; never throws for what it holds. */
  push(piece: Uint8Array): void;
  /**
   * Told that the body is whole.
   *
   * @throws {GatewayError} `invalid_request`, with `param` where a field is at fault.
   */
  end(): RequestHead;
}

/**
 * Finds the model, the wish for a stream and the names of other models in a body in one pass over its bytes
 * (docs/design.md#native-and-translated). A body that could mean different things to the gateway and to an upstream is
 * refused: two values of a field that matters, or anything that is not exactly one JSON object. That is told when the
 * body is whole: many clients read no answer before.
 */
export function createRequestHeadReader(path: PathHead): RequestHeadReader {
  const named = createNamedModels(OPERATIONS[path.operation]);
  const scan = new JsonObjectScan(
    WATCHED_KEYS.get(path.operation) ?? [],
    named.sinkOf,
  );
  const estimate = createInputEstimate();
  let fault: unknown;
  return {
    push(piece) {
      if (fault !== undefined) return;
      estimate.push(piece);
      try {
        scan.push(piece);
      } catch (thrown) {
        fault = thrown;
      }
    },
    end() {
      if (fault !== undefined) throw refusal(fault);
      try {
        return headOf(scan.end(), {
          path,
          named,
          shape: scan,
          estimatedTokens: estimate.tokens(),
        });
      } catch (thrown) {
        throw refusal(thrown);
      }
    },
  };
}

/** `background` of OpenAI (npm `openai`: `ResponseCreateParams`), `deferred` of xAI (docs.x.ai, deferred completions). */
const DEFERRING_FIELDS: Partial<Readonly<Record<Protocol, string>>> = {
  responses: "background",
  chat: "deferred",
};

const WATCHED_KEYS: ReadonlyMap<Operation, readonly string[]> = new Map(
  OPERATION_NAMES.map((name) => {
    const { modelField, streamField, protocol } = OPERATIONS[name];
    const own = [
      modelField,
      streamField,
      telltaleOf(name),
      DEFERRING_FIELDS[protocol],
    ].filter((field) => field !== undefined);
    return [name, [...new Set([...own, ...namingFields(protocol)])]];
  }),
);

/** What is in a body alone that speaks another protocol than its path. */
function telltaleOf(name: Operation): string | undefined {
  return name === "chat_completions" ? "input" : undefined;
}

function refusal(thrown: unknown): unknown {
  if (!(thrown instanceof JsonScanError)) return thrown;
  return new GatewayError("invalid_request", thrown.message, {
    ...(thrown.key === undefined ? {} : { param: thrown.key }),
    cause: thrown,
  });
}

function headOf(
  found: ReadonlyMap<string, FoundValue>,
  { path, named, shape: { values, depth }, estimatedTokens }: {
    readonly path: PathHead;
    readonly named: NamedModels;
    readonly shape: BodyShape;
    readonly estimatedTokens: number;
  },
): RequestHead {
  const operation = OPERATIONS[path.operation];
  return {
    model: modelOf(found, path, operation),
    modelSpan: valueAt(found, operation.modelField)?.span,
    stream: streamOf(found, path, operation),
    hasInput: isGiven(valueAt(found, telltaleOf(path.operation))),
    deferredBy: deferringField(found, operation),
    namedModels: named.end(),
    shape: { values, depth },
    estimatedTokens,
  };
}

function deferringField(
  found: ReadonlyMap<string, FoundValue>,
  { protocol }: OperationShape,
): string | undefined {
  const field = DEFERRING_FIELDS[protocol];
  const value = valueAt(found, field);
  return value !== undefined && valueOf(value) === true ? field : undefined;
}

function modelOf(
  found: ReadonlyMap<string, FoundValue>,
  { pathModel }: PathHead,
  { modelField }: OperationShape,
): string {
  if (modelField === undefined) {
    if (pathModel === undefined || pathModel === "") throw noModelInPath();
    return pathModel;
  }
  const value = found.get(modelField);
  if (value === undefined) throw wrongModel(modelField, "it is missing");
  const model = valueOf(value);
  if (typeof model === "string" && model !== "") return model;
  throw wrongModel(modelField, "it is not a non-empty string");
}

function streamOf(
  found: ReadonlyMap<string, FoundValue>,
  { pathStream }: PathHead,
  { streamField }: OperationShape,
): boolean {
  if (streamField === undefined) return pathStream === true;
  const value = found.get(streamField);
  const stream = value === undefined ? null : valueOf(value);
  if (typeof stream === "boolean" || stream === null) return stream === true;
  throw wrongStream(streamField);
}

function valueAt(
  found: ReadonlyMap<string, FoundValue>,
  field: string | undefined,
): FoundValue | undefined {
  return field === undefined ? undefined : found.get(field);
}

function isGiven(value: FoundValue | undefined): boolean {
  return value !== undefined &&
    (value.text === undefined || valueOf(value) !== null);
}

/** No model's name and no truth value is so long that it is not kept. */
function valueOf({ text }: FoundValue): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function noModelInPath(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot tell which model is asked for: the path names none",
    { param: "model" },
  );
}

function wrongModel(field: string, what: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot tell which model is asked for: the field \`${field}\` is wrong, ${what}`,
    { param: field },
  );
}

function wrongStream(field: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot tell whether to stream: the field \`${field}\` is wrong, send true or false`,
    { param: field },
  );
}

/** A rough count of the tokens of a body that is not parsed. */
interface InputEstimate {
  /** Sees the next piece and keeps nothing of it. */
  push(piece: Uint8Array): void;
  /** The tokens of what was seen. */
  tokens(): number;
}

/** A rough figure for text in English. */
const BYTES_PER_TOKEN = 4;

/** A screenshot of 300 KB in base64 costs some 1,500 tokens, and so does a page of a document. */
const MEDIA_BYTES_PER_TOKEN = 200;

/** A body is looked at every so many bytes; what is shorter counts as text. */
const STEP_BYTES = 4096;

/** No text without spaces, line feeds and quotation marks is so long, but base64 is. */
const SAMPLE_BYTES = 64;

/**
 * Estimates the tokens of a request by its length. Pictures, files and sound are in it as base64 and cost far fewer
 * tokens than text of that length, so a sample every few kilobytes tells the two apart.
 */
export function createInputEstimate(): InputEstimate {
  let bytes = 0;
  let mediaBytes = 0;
  return {
    push(piece) {
      bytes += piece.length;
      const last = piece.length - SAMPLE_BYTES;
      for (let at = STEP_BYTES - SAMPLE_BYTES; at <= last; at += STEP_BYTES) {
        if (isBase64(piece, at)) mediaBytes += STEP_BYTES;
      }
    },
    tokens() {
      const textBytes = bytes - mediaBytes;
      return Math.ceil(
        textBytes / BYTES_PER_TOKEN + mediaBytes / MEDIA_BYTES_PER_TOKEN,
      );
    },
  };
}

function isBase64(bytes: Uint8Array, start: number): boolean {
  for (let at = start; at < start + SAMPLE_BYTES; at++) {
    if (IS_BASE64[bytes[at] ?? 0] !== 1) return false;
  }
  return true;
}

const ALPHABET =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=";

/** By byte. */
const IS_BASE64 = new Uint8Array(256);
for (const byte of new TextEncoder().encode(ALPHABET)) IS_BASE64[byte] = 1;

/**
 * The protocol of a body for Chat Completions that has an `input`: without `messages` it is a Responses request, as
 * Cursor sends it. Such a body can never pass byte for byte.
 *
 * @returns `undefined` where it speaks Chat Completions, as far as can be told.
 */
export async function bodyProtocolOf(
  body: HeldBody,
): Promise<Protocol | undefined> {
  return await hasMessages(body) ? undefined : "responses";
}

async function hasMessages(body: HeldBody): Promise<boolean> {
  const scan = new JsonObjectScan(MESSAGES);
  try {
    for await (const piece of bodyPieces(body)) scan.push(piece);
    const messages = scan.end().get("messages");
    if (messages === undefined) return false;
    const { text } = messages;
    return text === undefined || !EMPTY_REGEXP.test(text);
  } catch (error) {
    // They stand in it twice.
    if (error instanceof JsonScanError) return true;
    throw error;
  }
}

const MESSAGES = ["messages"];

/** No Chat request has an empty list. */
const EMPTY_REGEXP = /^(?:null|\[\s*\])$/;
