import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { createFakeClock } from "../fakes/fake_clock.ts";
import {
  createPreservingProvider,
  type PreservingOptions,
  type PreservingProvider,
} from "../upstream/preserving_provider.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  NOW_MS,
  tokenFile,
  UPSTREAM_KEY,
} from "./config.ts";
import { createLogLines, type LogLines } from "./log_lines.ts";

type Gateway = ReturnType<typeof createGateway>;

/** The token of a second caller. */
export const BOB_TOKEN = "mg_bob";
/** A model that checks prefixes. */
export const MODEL = "claude-fable-5-1";
const BROKEN_HOST = "broken.example";

/** A gateway in front of a provider with preserved thinking. */
export interface Scene {
  readonly provider: PreservingProvider;
  readonly clock: ReturnType<typeof createFakeClock>;
  readonly lines: LogLines;
  fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Restarts the gateway; its memory is lost. */
  restart(): void;
  /** Sends later requests to the other replica. */
  swap(): void;
}

/** The kind of endpoint: only Anthropic's own accepts `block_binding`. */
export type Place = "own" | "custom";

const PLACES: Readonly<Record<Place, Record<string, unknown>>> = {
  own: { service: "anthropic", family: undefined, endpoints: undefined },
  custom: {
    family: "B",
    endpoints: { messages: "https://claude.example/v1" },
  },
};

/** Starts a gateway for Alice and Bob with the connection at `place`. */
export async function sceneOf(
  options: PreservingOptions = {},
  { place = "custom", connection = {}, broken = [] }: {
    readonly place?: Place;
    readonly connection?: Record<string, unknown>;
    /** The names of failing connections that come first. */
    readonly broken?: readonly string[];
  } = {},
): Promise<Scene> {
  const provider = createPreservingProvider({
    takesBinding: place === "own",
    ...options,
  });
  const config = configOf(
    await loadFile(minimalFile({
      connections: [
        ...broken.map((name) =>
          connectionFile({
            name,
            family: "B",
            endpoints: { messages: `https://${BROKEN_HOST}/v1` },
            models: [MODEL],
          })
        ),
        connectionFile({
          ...PLACES[place],
          paths: ["responses"],
          auth: { scheme: "x-api-key", key: UPSTREAM_KEY },
          models: [
            MODEL,
            "claude-opus-5",
            "claude-sonnet-4-5",
            { id: "team-model", upstream: "team-model" },
          ],
          ...connection,
        }),
      ],
      tokens: [
        tokenFile(),
        tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) }),
      ],
    })),
  );
  const lines = createLogLines();
  const clock = createFakeClock(NOW_MS);
  const start = (): Gateway =>
    createGateway({
      liveConfig: createLiveConfig(config),
      fetch: async (url, init) =>
        new URL(url).host === BROKEN_HOST
          ? new Response(null, { status: 500 })
          : await provider.fetch(url, init),
      log: lines.log,
      clock,
    });
  let gateway = start();
  let other = start();
  return {
    provider,
    clock,
    lines,
    fetch: (input, init) => gateway.handler(new Request(input, init)),
    restart: () => gateway = start(),
    swap: () => [gateway, other] = [other, gateway],
  };
}

/** A typical Chat agent, which keeps the text and the calls of answers. With `isEcho`, it keeps everything. */
export interface Agent {
  isEcho: boolean;
  model: string;
  token: string;
  system: string;
  tools: string[];
  readonly messages: JsonObject[];
  readonly headers: Headers[];
  /** Sends one request, and adds a result for each call. */
  turn(): Promise<JsonObject>;
  turns(count: number): Promise<void>;
  say(text: string): void;
}

/** Starts an agent of Alice with one user message. */
export function agentOf(scene: Scene, isStream = false): Agent {
  const agent: Agent = {
    isEcho: false,
    model: MODEL,
    token: ALICE_TOKEN,
    system: "You work.",
    tools: ["look", "write"],
    messages: [{ role: "user", content: "Work" }],
    headers: [],
    async turn() {
      const response = await scene.fetch(
        "http://gateway.test/v1/chat/completions",
        {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${agent.token}`,
          },
          body: JSON.stringify({
            model: agent.model,
            stream: isStream,
            messages: [
              { role: "system", content: agent.system },
              ...agent.messages,
            ],
            tools: agent.tools.map((name) => ({
              type: "function",
              function: { name, parameters: { type: "object" } },
            })),
          }),
        },
      );
      const text = await response.text();
      assert.equal(response.status, 200, text);
      agent.headers.push(response.headers);
      const message = isStream ? gathered(text) : wholeOf(text);
      const { reasoning_content: _text, reasoning_details: _seal, ...kept } =
        message;
      agent.messages.push(agent.isEcho ? message : kept);
      for (const { id } of objects(message.tool_calls)) {
        agent.messages.push({
          role: "tool",
          tool_call_id: id,
          content: `result of ${id}`,
        });
      }
      return message;
    },
    async turns(count) {
      for (let turn = 0; turn < count; turn++) await agent.turn();
    },
    say(text) {
      agent.messages.push({ role: "user", content: text });
    },
  };
  return agent;
}

function wholeOf(text: string): JsonObject {
  const [choice] = objects(JSON.parse(text).choices);
  assert.ok(isJsonObject(choice?.message));
  return choice.message;
}

/** Joins the texts and the lists of a stream, as a client does. */
function gathered(text: string): JsonObject {
  assert.match(text, /data: \[DONE\]/);
  const message: JsonObject = { role: "assistant", content: null };
  const calls: JsonObject[] = [];
  const details: JsonObject[] = [];
  for (const [, data = ""] of text.matchAll(/^data: (\{.*\})$/gm)) {
    const delta = JSON.parse(data).choices?.[0]?.delta ?? {};
    for (const field of ["content", "reasoning_content"]) {
      if (delta[field]) message[field] = (message[field] ?? "") + delta[field];
    }
    details.push(...delta.reasoning_details ?? []);
    for (const { index, ...call } of delta.tool_calls ?? []) {
      const known = calls[index];
      if (known === undefined) calls[index] = call;
      else if (isJsonObject(known.function)) {
        known.function.arguments += call.function?.arguments ?? "";
      }
    }
  }
  return {
    ...message,
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Returns the objects of a list. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the statuses of all the provider's responses, including a 400 before a repeated request. */
export function statuses({ judged }: PreservingProvider): readonly number[] {
  return judged.map(({ status }) => status);
}

/** Asserts that the provider rejected nothing and dropped nothing. */
export function assertNeverRefused({ provider }: Scene): void {
  assert.ok(statuses(provider).every((status) => status === 200));
  assert.ok(provider.judged.every(({ dropped }) => dropped.length === 0));
}
