import assert from "node:assert/strict";
import { GatewayError } from "../../src/base/error.ts";
import type { SseFrame } from "../../src/base/frame.ts";
import type { Ids } from "../../src/base/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../src/base/json.ts";
import { runStage } from "../../src/base/stage.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import type { AnswerContext, Codec } from "../../src/codecs/canonical/codec.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../src/codecs/canonical/answer/fold.ts";
import type { CanonicalRequest } from "../../src/codecs/canonical/request/request.ts";
import { createSseParser } from "../../src/base/streams/sse.ts";
import { damageBytes, damageJson } from "../support/wire/damage.ts";
import { createRandom } from "../support/fakes/random.ts";
import { ANSWERS } from "./answers.ts";
import { createGrammar } from "./grammar.ts";
import { targetOf } from "../support/dialects/targets.ts";

/** A protocol's codec, its test data and its known differences. */
export interface ContractSubject {
  readonly codec: Codec;
  /** A request of the protocol, to which the sample answers belong. */
  readonly request: JsonObject;
  /** Exchanges written for these tests. Without recordings, they cover every rule. */
  readonly cases: readonly ContractCase[];
  /** Recorded exchanges; empty on a machine without recordings. */
  readonly recordings: readonly ContractCase[];
  /** The accepted losses of the codec, by sample answer or case. */
  readonly differences: readonly Difference[];
  /** The places in a request that the codec spells differently. */
  readonly respellings: readonly Respelling[];
}

/** One exchange; any of the three may be missing. */
export interface ContractCase {
  readonly name: string;
  /** The service that receives the request; default: `openai`. */
  readonly service?: string;
  readonly request?: JsonObject;
  readonly answer?: JsonValue;
  /** The bytes of a stream. */
  readonly stream?: Uint8Array;
}

/** An accepted deviation from a rule. */
export interface Difference {
  readonly rule: Rule;
  /** Names of sample answers or cases, or patterns of names. */
  readonly names: readonly (string | RegExp)[];
  /** The reason why it is needed. */
  readonly reason: string;
}

/** A place in a request that a codec spells differently. */
export interface Respelling {
  /** Matches paths such as `messages[].content` or `lost topK`. */
  readonly path: RegExp;
  /** The reason why the meaning is the same. */
  readonly reason: string;
}

/** Reads one row per line: a pattern of paths, ` → ` and the reason. Dots, `[]` and the `$` of a name are literal. */
export function respellings(text: string): readonly Respelling[] {
  return text.trim().split("\n").map((row) => {
    const [pattern, reason] = row.split(" → ");
    assert.ok(pattern && reason, row);
    const path = pattern.replace(/\.|\[\]|\$(?=\w)/g, RegExp.escape);
    return { path: new RegExp(path), reason };
  });
}

type Rule = keyof typeof RULES;

const RULES = {
  "answer round trip":
    "a JSON answer keeps the content of the canonical answer",
  "stream round trip": "a stream keeps the content of the canonical answer",
  "stream equals JSON": "a stream has the content of the JSON answer",
  "one ending": "a stream cut at any frame has one ending, a failure",
  "request round trip": "a request keeps its fields",
  "answer read":
    "an answer keeps its content when it is decoded, encoded and decoded again",
  "stream read": "a stream is read to its end with chunks of any size",
  "stream and answer agree":
    "the JSON answer of a read stream has the same content",
  "damage": "damaged input throws only errors of the expected type",
} as const;

/** Registers the tests that every codec passes. */
export function codecContract(subject: ContractSubject): void {
  const { codec } = subject;
  const request = codec.decodeRequest(subject.request);
  for (const { name, answer } of ANSWERS) {
    sampleTests(subject, { name, answer, request });
  }
  for (const one of [...subject.cases, ...subject.recordings]) {
    caseTests(subject, one, request);
  }
  if (subject.recordings.length > 0) return;
  Deno.test.ignore(
    `${codec.protocol} codec: recordings (ignored: this machine has none)`,
    () => {},
  );
}

/** Returns the frames of `answer` as a stream. */
export function encodeStream(
  codec: Codec,
  answer: Answer,
  request: CanonicalRequest,
): SseFrame[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  const frames = runStage(
    codec.createStreamEncoder(answerContext(request)),
    events,
  );
  for (const { data } of frames) assert.equal(/[\r\n]/.test(data), false);
  return frames;
}

/** Returns the events of a whole upstream stream, and checks their grammar. */
export function decodeFrames(
  codec: Codec,
  frames: readonly SseFrame[],
): AnswerEvent[] {
  return runStage(
    createGrammar(),
    runStage(codec.createStreamDecoder(counterIds()), frames),
  );
}

/** Returns the events of a stream whose bytes arrive in chunks of `size`. */
export function decodeBytes(
  codec: Codec,
  bytes: Uint8Array,
  size = bytes.length,
): AnswerEvent[] {
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    chunks.push(bytes.subarray(from, from + size));
  }
  return decodeFrames(
    codec,
    runStage(createSseParser({ maxFrameCharacters: 1 << 24 }), chunks),
  );
}

/** A context with a fixed time and fixed ids, so that texts can be compared. */
export function answerContext(request: CanonicalRequest): AnswerContext {
  return {
    ids: counterIds(),
    nowMs: 1_700_000_000_000,
    model: "sample-model",
    request,
    estimatedInputTokens: 7,
    requestId: "req_1",
    connectionId: "connection-1",
    drop: () => {},
  };
}

/** Returns an answer after encoding and decoding. */
function throughJson(
  codec: Codec,
  answer: Answer,
  request: CanonicalRequest,
  model = "sample-model",
): Answer {
  const context = { ...answerContext(request), model };
  return codec.decodeAnswer(codec.encodeAnswer(answer, context), counterIds());
}

/** Creates numbered ids, from 1. */
export function counterIds(): Ids {
  let count = 0;
  return { next: (prefix) => `${prefix}_${String(++count).padStart(4, "0")}` };
}

/** Returns `value` without absent fields, as in JSON. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/**
 * Returns the parts of an answer that every protocol must keep. Left out are the id, the time, the division of texts
 * into messages, and the original spellings. Arguments of a call are compared as JSON, and none equal `{}`. An absent
 * count of tokens written to a cache equals 0, which Responses demands.
 */
export function essence(answer: Answer): unknown {
  const besides = new Set([
    "raw",
    "providerMetadata",
    "message",
    "serviceTier",
    "createdAtMs",
  ]);
  const { id: _id, ...rest } = answer;
  return JSON.parse(JSON.stringify(rest, (key, value) => {
    if (besides.has(key)) return undefined;
    if (key === "cacheWriteTokens" && value === 0) return undefined;
    return key === "arguments" ? parseJson(value || "{}") ?? value : value;
  }));
}

/** A sample answer, and the request that it answers. */
interface Sample {
  readonly name: string;
  readonly answer: Answer;
  readonly request: CanonicalRequest;
}

function sampleTests(
  subject: ContractSubject,
  { name, answer, request }: Sample,
): void {
  const { codec } = subject;
  const sent = () => essence(answer);
  const fromJson = () => essence(throughJson(codec, answer, request));
  const fromStream = () =>
    essence(
      foldAnswer(decodeFrames(codec, encodeStream(codec, answer, request))),
    );
  const same = (one: () => unknown, other: () => unknown) => () =>
    assert.deepEqual(one(), other());
  test(subject, "answer round trip", name, same(fromJson, sent));
  test(subject, "stream round trip", name, same(fromStream, sent));
  test(subject, "stream equals JSON", name, same(fromStream, fromJson));
  test(subject, "one ending", name, () => {
    const frames = encodeStream(codec, answer, request);
    for (let length = 0; length < frames.length; length++) {
      const events = decodeFrames(codec, frames.slice(0, length));
      const endings = events.filter(({ type }) =>
        type === "end" || type === "failure"
      );
      assert.equal(endings.length, 1, `cut after ${length} frames`);
    }
  });
}

function caseTests(
  subject: ContractSubject,
  one: ContractCase,
  request: CanonicalRequest,
): void {
  if (one.request !== undefined) requestTests(subject, one, one.request);
  if (one.answer !== undefined) {
    answerTests(subject, { name: one.name, body: one.answer, request });
  }
  if (one.stream !== undefined) {
    streamTests(subject, { name: one.name, bytes: one.stream, request });
  }
}

function requestTests(
  subject: ContractSubject,
  one: ContractCase,
  body: JsonObject,
): void {
  const { codec } = subject;
  test(subject, "request round trip", one.name, () => {
    const decoded = codec.decodeRequest(body);
    const lost: string[] = [];
    const encoded = codec.encodeRequest(decoded, {
      target: targetOf(one.service ?? "openai", decoded.model),
      reportDropped: (field) => {
        lost.push(`lost ${typeof field === "string" ? field : field.extra}`);
      },
    });
    const changed = [...lost, ...changedPaths(plain(body), plain(encoded))];
    const unexplained = changed.filter((path) =>
      !subject.respellings.some((respelling) => respelling.path.test(path))
    );
    assert.deepEqual(unexplained, []);
  });
  test(subject, "damage", `request of ${one.name}`, () => {
    const random = createRandom(1);
    for (let round = 0; round < 30; round++) {
      const damaged = damageJson(body, random);
      if (!isJsonObject(damaged)) continue;
      onlyThrows(GatewayError, () => codec.decodeRequest(damaged));
    }
  });
}

/** A body and the request that it answers. */
interface ReadAnswer {
  readonly name: string;
  readonly body: JsonValue;
  readonly request: CanonicalRequest;
}

function answerTests(
  subject: ContractSubject,
  { name, body, request }: ReadAnswer,
): void {
  const { codec } = subject;
  test(subject, "answer read", name, () => {
    const answer = codec.decodeAnswer(body, counterIds());
    const again = throughJson(codec, answer, request, answer.model);
    assert.deepEqual(essence(again), essence(answer));
  });
  test(subject, "damage", `answer of ${name}`, () => {
    const random = createRandom(2);
    for (let round = 0; round < 30; round++) {
      const damaged = damageJson(body, random);
      onlyThrows(
        UpstreamFailure,
        () => codec.decodeAnswer(damaged, counterIds()),
      );
    }
  });
}

/** A stream and the request that it answers. */
interface ReadStream {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly request: CanonicalRequest;
}

function streamTests(
  subject: ContractSubject,
  { name, bytes, request }: ReadStream,
): void {
  const { codec } = subject;
  test(subject, "stream read", name, () => {
    const events = decodeBytes(codec, bytes);
    assert.equal(events.at(-1)?.type, "end");
    for (const size of [1, 7, 64]) {
      assert.deepEqual(decodeBytes(codec, bytes, size), events);
    }
  });
  test(subject, "stream and answer agree", name, () => {
    const answer = foldAnswer(decodeBytes(codec, bytes));
    const again = throughJson(codec, answer, request, answer.model);
    assert.deepEqual(essence(again), essence(answer));
  });
  test(subject, "damage", `stream of ${name}`, () => {
    const random = createRandom(3);
    for (let round = 0; round < 20; round++) {
      const events = decodeBytes(codec, damageBytes(bytes, random));
      const last = events.at(-1)?.type;
      assert.ok(last === "end" || last === "failure", `${last} is the last`);
    }
  });
}

/** Runs `body`, which may throw only an error of this type. */
function onlyThrows(
  allowed: new (...args: never[]) => Error,
  body: () => unknown,
): void {
  try {
    body();
  } catch (error) {
    if (!(error instanceof allowed)) throw error;
  }
}

/** Registers a test. With a known difference, the test must fail, so that no outdated difference stays listed. */
function test(
  subject: ContractSubject,
  rule: Rule,
  name: string,
  body: () => void,
): void {
  const difference = subject.differences.find((one) =>
    one.rule === rule &&
    one.names.some((pattern) =>
      typeof pattern === "string" ? pattern === name : pattern.test(name)
    )
  );
  const title = `${subject.codec.protocol} codec: ${RULES[rule]}: "${name}"`;
  if (difference === undefined) return Deno.test(title, body);
  const typed = [assert.AssertionError, UpstreamFailure, GatewayError];
  Deno.test(`${title} differs: ${difference.reason}`, () => {
    assert.throws(body, (error) => typed.some((one) => error instanceof one));
  });
}

/** Returns the paths at which two JSON values differ, without positions in lists. */
function changedPaths(before: unknown, after: unknown, path = ""): string[] {
  if (before === after) return [];
  if (
    Array.isArray(before) && Array.isArray(after) &&
    before.length === after.length
  ) {
    return before.flatMap((one, index) =>
      changedPaths(one, after[index], `${path}[]`)
    );
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .flatMap((key) =>
        changedPaths(
          before[key],
          after[key],
          path === "" ? key : `${path}.${key}`,
        )
      );
  }
  return [path];
}
