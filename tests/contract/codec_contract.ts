import assert from "node:assert/strict";
import type { SseFrame } from "../../src/core/frame.ts";
import type { Ids } from "../../src/core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/core/json.ts";
import { runStage } from "../../src/core/stage.ts";
import type { Answer } from "../../src/protocols/canonical/answer.ts";
import type {
  AnswerContext,
  Codec,
} from "../../src/protocols/canonical/codec.ts";
import type { AnswerEvent } from "../../src/protocols/canonical/event.ts";
import { UpstreamFailure } from "../../src/protocols/canonical/failure.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../src/protocols/canonical/fold.ts";
import { createGrammar } from "../../src/protocols/canonical/grammar.ts";
import type { CanonicalRequest } from "../../src/protocols/canonical/request.ts";
import { ANSWERS } from "./answers.ts";

/** What a protocol brings to the suite. */
export interface ContractSubject {
  readonly codec: Codec;
  /** A request that the codec reads; answers are written for it. */
  readonly request: JsonObject;
  /** Recorded or written exchanges. */
  readonly cases: readonly ContractCase[];
  /** What the codec does not keep, by the sample answer or case that shows it. */
  readonly differences: readonly Difference[];
  /** What it writes otherwise than it was read, by the place in a request. */
  readonly respellings: readonly Respelling[];
}

/** A place in a request that a codec writes otherwise than it read it. */
export interface Respelling {
  /** Against paths such as `messages[].content`, where the request was and where it is now. */
  readonly path: RegExp;
  /** Why the upstream understands the same. */
  readonly reason: string;
}

/** One exchange; any of the three may be missing. */
export interface ContractCase {
  readonly name: string;
  /** The kind of service that the request goes to; `openai` where it does not matter. */
  readonly service?: string;
  readonly request?: JsonObject;
  readonly answer?: JsonValue;
  readonly frames?: readonly SseFrame[];
}

/** A deviation that is meant, as data. */
export interface Difference {
  readonly rule: keyof typeof RULES;
  /** Names of sample answers or cases; a pattern for families. */
  readonly names: readonly (string | RegExp)[];
  /** Why it must be so. */
  readonly reason: string;
}

const RULES = {
  "answer round trip": "decodeAnswer(encodeAnswer(answer)) is the answer",
  "stream round trip": "folding decode(encode(events)) is the answer",
  "stream equals JSON":
    "the streamed answer decodes to what the JSON answer decodes to",
  "request round trip": "encodeRequest(decodeRequest(body)) keeps the body",
  "recorded stream": "a recorded stream keeps the grammar and ends well",
  "recorded answer": "a recorded answer decodes and survives its own encoding",
} as const;

/** Registers the tests that every codec passes. */
export function codecContract(subject: ContractSubject): void {
  const { codec } = subject;
  const request = codec.decodeRequest(subject.request);
  for (const { name, answer } of ANSWERS) {
    test(subject, "answer round trip", name, () => {
      const body = codec.encodeAnswer(answer, answerContext(request));
      assert.deepEqual(
        essence(codec.decodeAnswer(body, counterIds())),
        essence(answer),
      );
    });
    test(subject, "stream round trip", name, () => {
      const events = decodeFrames(codec, encodeStream(codec, answer, request));
      assert.deepEqual(essence(foldAnswer(events)), essence(answer));
    });
    test(subject, "stream equals JSON", name, () => {
      const body = codec.encodeAnswer(answer, answerContext(request));
      const events = decodeFrames(codec, encodeStream(codec, answer, request));
      assert.deepEqual(
        essence(foldAnswer(events)),
        essence(codec.decodeAnswer(body, counterIds())),
      );
    });
    Deno.test(`${codec.protocol} stream of "${name}" cut at any frame has one ending`, () => {
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
  for (const one of subject.cases) recordedCase(subject, one, request);
}

/** The frames of `answer`, told as a stream. */
export function encodeStream(
  codec: Codec,
  answer: Answer,
  request: CanonicalRequest,
): SseFrame[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return runStage(codec.createStreamEncoder(answerContext(request)), events);
}

/** The events of a whole upstream stream, whose grammar is checked on the way. */
export function decodeFrames(
  codec: Codec,
  frames: readonly SseFrame[],
): AnswerEvent[] {
  return runStage(
    createGrammar(),
    runStage(codec.createStreamDecoder(counterIds()), frames),
  );
}

/** Fixed time and ids, so that what is written can be compared. */
export function answerContext(request: CanonicalRequest): AnswerContext {
  return {
    ids: counterIds(),
    nowMs: 1_700_000_000_000,
    model: "sample-model",
    request,
    estimatedInputTokens: 7,
    connectionId: "connection-1",
    drop: () => {},
  };
}

/** Ids that count from 1. */
export function counterIds(): Ids {
  let count = 0;
  return { next: (prefix) => `${prefix}_${String(++count).padStart(4, "0")}` };
}

/** `value` as JSON would hold it: without absent fields. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/**
 * What every protocol must keep of an answer: all but its id, its time, and the spellings that stand beside
 * the neutral meaning.
 */
export function essence(answer: Answer): unknown {
  const besides = new Set(["raw", "marks", "serviceTier", "createdAtMs"]);
  const { id: _id, ...rest } = answer;
  return JSON.parse(
    JSON.stringify(rest, (key, value) => besides.has(key) ? undefined : value),
  );
}

function recordedCase(
  subject: ContractSubject,
  one: ContractCase,
  request: CanonicalRequest,
): void {
  const { codec } = subject;
  const { request: body, answer, frames } = one;
  if (body !== undefined) {
    test(subject, "request round trip", one.name, () => {
      const decoded = codec.decodeRequest(body);
      const lost: string[] = [];
      const encoded = codec.encodeRequest(decoded, {
        target: {
          service: one.service ?? "openai",
          connectionId: "connection-1",
          model: decoded.model,
          maxOutputTokens: undefined,
        },
        lose: ({ field }) =>
          lost.push(`lost ${typeof field === "string" ? field : field.extra}`),
      });
      const changed = [...lost, ...changedPaths(plain(body), plain(encoded))];
      const unexplained = changed.filter((path) =>
        !subject.respellings.some((one) => one.path.test(path))
      );
      assert.deepEqual(unexplained, []);
    });
  }
  if (answer !== undefined) {
    test(subject, "recorded answer", one.name, () => {
      const decoded = codec.decodeAnswer(answer, counterIds());
      const again = codec.decodeAnswer(
        codec.encodeAnswer(decoded, {
          ...answerContext(request),
          model: decoded.model,
        }),
        counterIds(),
      );
      assert.deepEqual(essence(again), essence(decoded));
    });
  }
  if (frames !== undefined) {
    test(subject, "recorded stream", one.name, () => {
      const events = decodeFrames(codec, frames);
      assert.equal(events.at(-1)?.type, "end");
    });
  }
}

/** A test that a difference may turn into the proof that it still is one. */
function test(
  subject: ContractSubject,
  rule: keyof typeof RULES,
  name: string,
  body: () => void,
): void {
  const difference = subject.differences.find((one) =>
    one.rule === rule &&
    one.names.some((pattern) =>
      typeof pattern === "string" ? pattern === name : pattern.test(name)
    )
  );
  const title = `${subject.codec.protocol} ${rule}: ${RULES[rule]}: "${name}"`;
  if (difference === undefined) {
    Deno.test(title, body);
  } else {
    Deno.test(`${title} differs: ${difference.reason}`, () => {
      assert.throws(
        body,
        (error) =>
          error instanceof assert.AssertionError ||
          error instanceof UpstreamFailure,
      );
    });
  }
}

/** The paths, without positions in lists, where two JSON values differ. */
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
