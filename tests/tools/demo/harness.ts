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

/** A clock that stands still until it is moved. */
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

/** Identifiers that count: `msg_1`, `call_2`, … */
export function createCountingIds(): Ids {
  let count = 0;
  return { next: (prefix) => `${prefix}_${++count}` };
}

/** A demo upstream with fixed ids and clock that answers without waiting, unless `options` say otherwise. */
export function createFixedDemo(
  options: Partial<DemoOptions> = {},
): DemoUpstream {
  return createDemoUpstream({ ...fixed(), ...options });
}

/** The same of the strict provider, which judges the program's codecs. */
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

/** A request with the right key and version for the provider of `family`. */
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

/** What came back for a request. */
interface Asked {
  readonly status: number;
  readonly answer: JsonObject;
}

/** Sends `body` to a fresh strict provider, or to `provider`; gives the status and the object that comes back. */
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

/** Sends `body` with `stream: true` in the same way and gives the text that comes back. */
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

/** Sends `body` to the demo and to the strict provider, which must answer alike; gives the latter's answer. */
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

/** The parts of an answer that do not depend on who wrote it. */
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
