import assert from "node:assert/strict";
import type { Clock } from "../../../src/base/time/timers.ts";
import type { Ids } from "../../../src/base/ids.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { isJsonObject, parseJson } from "../../../src/base/json.ts";
import type { Family, Protocol } from "../../../src/base/protocol.ts";
import type { AnswerBlock } from "../../../src/codecs/canonical/content/block.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { createDemoUpstream } from "../../../src/tools/demo/upstream.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";

type DemoUpstream = ReturnType<typeof createDemoUpstream>;

type DemoOptions = Parameters<typeof createDemoUpstream>[0];

/** 2026-11-20T12:00:00Z. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);

/** A clock that moves only when the test moves it. */
export interface FakeClock extends Clock {
  advance(ms: number): void;
}

/** A clock at {@linkcode NOON_MS}. */
export function createFakeClock(): FakeClock {
  let ms = NOON_MS;
  return {
    now: () => ms,
    elapsedMs: () => ms - NOON_MS,
    advance: (step) => ms += step,
  };
}

/** Creates numbered identifiers: `msg_1`, `call_2`, … */
export function createCountingIds(): Ids {
  let count = 0;
  return { next: (prefix) => `${prefix}_${++count}` };
}

/** Creates a demo with fixed ids and clock that answers without pauses. `options` replace these defaults. */
export function createFixedDemo(
  options: Partial<DemoOptions> = {},
): DemoUpstream {
  return createDemoUpstream({ ...fixed(), ...options });
}

/** Creates a strict provider with the same defaults. */
export function createFixedStrict(
  options: Partial<DemoOptions> = {},
): DemoUpstream {
  return createStrictProvider({ ...fixed(), ...options });
}

function fixed(): DemoOptions {
  return { clock: createFakeClock(), ids: createCountingIds(), wordMs: 0 };
}

const ORIGINS: Readonly<Record<Family, string>> = {
  A: "https://demo-a.invalid",
  B: "https://demo-b.invalid",
  C: "https://demo-c.invalid",
};

/** Returns a request with the valid key and version for the provider of `family`. */
export function demoRequest(
  family: Family,
  path: string,
  init: {
    readonly body?: JsonObject | string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly method?: string;
    readonly signal?: AbortSignal;
  } = {},
): Request {
  const { body, signal } = init;
  return new Request(ORIGINS[family] + path, {
    method: init.method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      "authorization": `Bearer demo-key-${family.toLowerCase()}`,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
      ...init.headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A status with the parsed body. */
interface Asked {
  readonly status: number;
  readonly answer: JsonObject;
}

/** Sends `body` to `provider`, by default a new strict one. Returns the status and the parsed body. */
export async function ask(
  family: Family,
  path: string,
  body: JsonObject | string,
  provider: DemoUpstream = createFixedStrict(),
): Promise<Asked> {
  const response = await provider(demoRequest(family, path, { body }));
  const answer = parseJson(await response.text());
  if (!isJsonObject(answer)) throw new Error("the demo answered no object");
  return { status: response.status, answer };
}

/** Sends `body` with `stream: true` and returns the text of the response. */
export async function askStream(
  family: Family,
  path: string,
  body: JsonObject,
  provider: DemoUpstream = createFixedStrict(),
): Promise<string> {
  const streaming = { body: { ...body, stream: true } };
  const response = await provider(demoRequest(family, path, streaming));
  return await response.text();
}

const PROTOCOL_BY_PATH: Readonly<Record<string, Protocol>> = {
  "/v1/chat/completions": "chat",
  "/v1/messages": "messages",
  "/v1/responses": "responses",
};

/** Sends `body` to the demo and to the strict provider, checks that the answers agree, and returns the latter. */
export async function askBoth(
  family: Family,
  path: string,
  body: JsonObject,
): Promise<Asked> {
  const protocol = PROTOCOL_BY_PATH[path];
  assert.ok(protocol);
  const asked = await ask(family, path, body);
  const demo = await ask(family, path, body, createFixedDemo());
  assert.equal(asked.status, 200);
  assert.equal(demo.status, 200);
  assert.deepEqual(
    gistOf(demo.answer, protocol),
    gistOf(asked.answer, protocol),
  );
  return asked;
}

/** Returns the parts of an answer that must be equal for the demo and the strict provider. */
export function gistOf(answer: JsonObject, protocol: Protocol): unknown {
  const { blocks, stop, usage } = CODECS[protocol].decodeAnswer(
    answer,
    createCountingIds(),
  );
  return {
    stop: [stop.reason, stop.sequence],
    usage: [
      usage?.inputTokens,
      usage?.cachedInputTokens ?? 0,
      usage?.outputTokens,
      protocol === "messages" || usage?.reasoningTokens,
    ],
    blocks: blocks.map(gistOfBlock).filter((gist) => gist !== ""),
  };
}

function gistOfBlock(block: AnswerBlock): unknown {
  switch (block.kind) {
    case "reasoning":
      return block.parts.map(({ text }) => text).join("\n");
    case "function_call":
      return [block.name, block.namespace, block.arguments];
    case "custom_call":
      return [block.name, block.namespace, block.input];
    case "opaque":
      return block.type;
    default:
      return block.text;
  }
}
