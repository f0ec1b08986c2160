import { GatewayError } from "@gateway/base/error";
import {
  type Operation,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationShape,
  type Protocol,
} from "@gateway/base/protocol";
import {
  type FoundValue,
  JsonObjectScan,
  JsonScanError,
} from "@gateway/json_scan";
import { bodyChunks, type HeldBody } from "./held_body.ts";
import { createInputEstimate } from "./input_estimate.ts";
import {
  createNamedModels,
  type NamedModel,
  type NamedModels,
  namingFields,
} from "./named_models.ts";
import type { FindPrompt, PromptParts } from "./prompt_parts.ts";
import { PromptPartsReader } from "./prompt_scan.ts";

/** The fields of a request that the relay needs, found without parsing its body. */
export interface RequestHead {
  readonly model: string;
  /** The member of the body with the model; `undefined` when the path names the model. */
  readonly modelMember: FoundValue | undefined;
  /** The `anthropic_version` in the body. This field belongs to Vertex. */
  readonly versionMember: FoundValue | undefined;
  readonly stream: boolean;
  /** True when a body for Chat Completions has an `input`. This field belongs to Responses. */
  readonly hasInput: boolean;
  /** The field that requests an answer to be fetched later; `undefined` when the request waits for its answer. */
  readonly deferredBy: string | undefined;
  /** The models in fields by which an upstream could choose another model. */
  readonly namedModels: readonly NamedModel[];
  /** True when the body may hold a seal of the gateway's own. */
  readonly hasMark: boolean;
  /** The number of values and the depth of the body. */
  readonly shape: BodyShape;
  /** A rough count of the body's tokens. */
  readonly estimatedTokens: number;
  /** The checksums of the prompt's parts. */
  readonly prompt: PromptParts;
  /** The most output tokens that the body allows, over all of its choices; `undefined` when it sets no bound. */
  readonly maxOutputTokens: number | undefined;
}

/** The measures of a body that decide how much work and memory its parsing takes. */
export interface BodyShape {
  /** The number of objects, arrays and members. */
  readonly values: number;
  /** The number of nested levels of objects and arrays. */
  readonly depth: number;
}

/** The fields of a request that its path contains. */
export interface PathHead {
  readonly operation: Operation;
  /** The model in the path; `undefined` when the body names the model. */
  readonly pathModel?: string | undefined;
  /** True when the path requests a stream; `undefined` when the body decides. */
  readonly pathStream?: boolean | undefined;
}

/** Reads the fields of a request while its body arrives. */
interface RequestHeadReader {
  /** Reads the next chunk without keeping it. Never throws because of the content. */
  push(chunk: Uint8Array): void;
  /**
   * Ends the reading of a complete body.
   *
   * @throws {GatewayError} `invalid_request`, with `param` when a field is the cause.
   */
  end(): RequestHead;
}

/**
 * Reads the model, the stream flag and the names of other models in one pass over a body
 * (docs/design.md#native-and-translated). The reader rejects a body that the gateway and an upstream may read
 * differently: a field with two values, or anything but exactly one JSON object. The error is thrown only at the end of
 * the body, because many clients read no response before they have sent the body.
 */
export function createRequestHeadReader(
  path: PathHead,
  findPrompt?: FindPrompt,
): RequestHeadReader {
  const named = createNamedModels(OPERATIONS[path.operation]);
  const prompt = new PromptPartsReader(findPrompt);
  const scan = new JsonObjectScan(
    WATCHED_KEYS.get(path.operation) ?? [],
    named.sinkOf,
    prompt,
  );
  const estimate = createInputEstimate();
  let fault: unknown;
  return {
    push(chunk) {
      if (fault !== undefined) return;
      estimate.push(chunk);
      try {
        scan.push(chunk);
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
          prompt,
          estimatedTokens: estimate.tokens(),
        });
      } catch (thrown) {
        throw refusal(thrown);
      }
    },
  };
}

/**
 * The fields that request an answer to be fetched later: `background` of OpenAI (npm `openai`: `ResponseCreateParams`),
 * `deferred` of xAI (docs.x.ai, deferred completions).
 */
const DEFERRING_FIELDS: Partial<Readonly<Record<Protocol, string>>> = {
  responses: "background",
  chat: "deferred",
};

/** The fields that bound the output tokens (npm `openai`, `@anthropic-ai/sdk`). */
const OUTPUT_FIELDS: Partial<Readonly<Record<Protocol, readonly string[]>>> = {
  chat: ["max_tokens", "max_completion_tokens"],
  messages: ["max_tokens"],
  responses: ["max_output_tokens"],
};

/** The field with the number of choices. Each choice has its own output. */
const CHOICES_FIELD = "n";

const VERSION_FIELD = "anthropic_version";

const WATCHED_KEYS: ReadonlyMap<Operation, readonly string[]> = new Map(
  OPERATION_NAMES.map((name) => {
    const { modelField, streamField, protocol } = OPERATIONS[name];
    const own = [
      modelField,
      streamField,
      foreignFieldOf(name),
      DEFERRING_FIELDS[protocol],
      ...OUTPUT_FIELDS[protocol] ?? [],
      protocol === "chat" ? CHOICES_FIELD : undefined,
      protocol === "messages" ? VERSION_FIELD : undefined,
    ].filter((field) => field !== undefined);
    return [name, [...new Set([...own, ...namingFields(protocol)])]];
  }),
);

/** Returns the field that marks a body of another protocol than the path's. */
function foreignFieldOf(name: Operation): string | undefined {
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
  { path, named, shape, prompt, estimatedTokens }: {
    readonly path: PathHead;
    readonly named: NamedModels;
    readonly shape: BodyShape & Pick<RequestHead, "hasMark">;
    readonly prompt: PromptParts;
    readonly estimatedTokens: number;
  },
): RequestHead {
  const operation = OPERATIONS[path.operation];
  const model = valueAt(found, operation.modelField);
  return {
    model: modelOf(found, path, operation),
    modelMember: model,
    versionMember: found.get(VERSION_FIELD),
    stream: streamOf(found, path, operation),
    hasInput: isGiven(valueAt(found, foreignFieldOf(path.operation))),
    deferredBy: deferringField(found, operation),
    namedModels: named.end(),
    hasMark: shape.hasMark,
    shape: { values: shape.values, depth: shape.depth },
    prompt,
    estimatedTokens,
    maxOutputTokens: maxOutputOf(found, operation),
  };
}

function maxOutputOf(
  found: ReadonlyMap<string, FoundValue>,
  { protocol }: OperationShape,
): number | undefined {
  const bounds = (OUTPUT_FIELDS[protocol] ?? []).flatMap((field) =>
    countAt(found, field) ?? []
  );
  if (bounds.length === 0) return undefined;
  return Math.max(...bounds) * (countAt(found, CHOICES_FIELD) ?? 1);
}

function countAt(
  found: ReadonlyMap<string, FoundValue>,
  field: string,
): number | undefined {
  const value = valueAt(found, field);
  const count = value && valueOf(value);
  return typeof count === "number" && count > 0 ? count : undefined;
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
  if (value === undefined) throw wrongModel(modelField, "is missing");
  const model = valueOf(value);
  if (typeof model === "string" && model !== "") return model;
  throw wrongModel(modelField, "is not a non-empty string");
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

/**
 * Parses a value; `undefined` when the scan kept no text, because the value is too long for a model's name or a
 * boolean.
 */
function valueOf({ text }: FoundValue): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function noModelInPath(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot find the model: the path names no model. Name one in the path.",
    { param: "model" },
  );
}

function wrongModel(field: string, problem: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot find the model: the field \`${field}\` ${problem}. Send the id of a model.`,
    { param: field },
  );
}

function wrongStream(field: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot read the field \`${field}\`: it is not a boolean. Send true or false.`,
    { param: field },
  );
}

/**
 * Returns the protocol of a body with an `input` that was sent to Chat Completions. If the body has no `messages`, it
 * is a Responses request, as Cursor sends it. Such a body cannot be forwarded natively.
 *
 * @returns `undefined` for a body that seems to be for Chat Completions.
 */
export async function bodyProtocolOf(
  body: HeldBody,
): Promise<Protocol | undefined> {
  return await hasMessages(body) ? undefined : "responses";
}

async function hasMessages(body: HeldBody): Promise<boolean> {
  const scan = new JsonObjectScan(MESSAGES);
  try {
    for await (const piece of bodyChunks(body)) scan.push(piece);
    const messages = scan.end().get("messages");
    if (messages === undefined) return false;
    const { text } = messages;
    return text === undefined || !EMPTY_REGEXP.test(text);
  } catch (error) {
    // The only error left is a second `messages`.
    if (error instanceof JsonScanError) return true;
    throw error;
  }
}

const MESSAGES = ["messages"];

/** Matches a value of `messages` that no Chat request has: `null` or an empty list. */
const EMPTY_REGEXP = /^(?:null|\[\s*\])$/;
