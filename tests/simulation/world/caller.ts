import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { wrapSealed } from "../../../src/codecs/canonical/content/sealed.ts";
import type { Random } from "../../support/fakes/random.ts";
import { PATHS } from "../../support/wire/ask.ts";
import type { Look } from "./look.ts";
import { ProcessEnded, type Replica } from "./replica.ts";
import type { VirtualTime } from "./time.ts";
import type { Trace } from "./trace.ts";

/** A caller, with its token and the models that it may use. */
export interface Agent {
  readonly name: string;
  readonly token: string;
  readonly models: readonly string[];
}

/** One request of a caller, with its response. */
export interface Asked {
  readonly number: number;
  readonly agent: Agent;
  readonly session: string;
  readonly protocol: Protocol;
  readonly model: string;
  readonly isStream: boolean;
  /** The session whose conversation it belongs to; for a sub-agent, the parent's. */
  readonly conversation: string;
  /** True for work that nobody waits for. */
  readonly isBackground: boolean;
  readonly startedMs: number;
  /** The moments of the end of its body, the start of its response, and its caller's leaving. */
  sentMs: number | undefined;
  respondedMs: number | undefined;
  leftMs: number | undefined;
  /** The replica that received it and the number of its process, as `NAME.NUMBER`; undefined when none was up. */
  replica: string | undefined;
  status: number | undefined;
  headers: Headers | undefined;
  /** The body as far as it was read. */
  text: string;
  /** The moment of the first byte of a 200's body. */
  outputMs: number | undefined;
  /** The time after the first byte in which the caller reads nothing, in milliseconds. */
  readonly pausesForMs?: number;
  /** `lost` when the gateway's process ended, or none was up. */
  ending: "complete" | "broken" | "left" | "lost" | undefined;
  endedMs: number | undefined;
}

/** The parts of a world that callers use. */
export interface CallerScene {
  readonly replicas: readonly Replica[];
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  /** All requests so far. */
  readonly asked: Asked[];
  /** Returns the number of the next request. */
  readonly nextNumber: () => number;
  /** The reads of `/usage`, `/limits` and `/models` so far. */
  readonly looks?: Look[];
}

/** A turn of a session. */
export interface Turn {
  readonly agent: Agent;
  readonly session: string;
  readonly protocol: Protocol;
  readonly model: string;
}

/** A request that a caller is about to make. */
export interface Wish extends Turn {
  readonly isStream: boolean;
  /** True when the caller never leaves early. */
  readonly isPatient?: boolean;
  /** True when the caller sends the body at once and reads without pauses. */
  readonly isPrompt?: boolean;
  /** The tool calls that its conversation has had so far. */
  readonly toolCalls?: number;
  /** The id of each of these calls; by default, one that no provider made. */
  readonly callId?: string;
  /** The parent's session, for a sub-agent. */
  readonly parent?: string;
  /** True for work that nobody waits for. */
  readonly isBatch?: boolean;
  /** Further fields of its body. */
  readonly fields?: JsonObject;
  /** Further messages, or items, of its conversation. */
  readonly said?: readonly JsonObject[];
  /** How its body is invalid. */
  readonly damage?: "cut" | "deep" | "wrong type";
  /** The length of its prompt, in characters; by default, the seed chooses it. */
  readonly promptLength?: number;
  /** True when the caller leaves as soon as it has the last event of a stream, as Codex does. */
  readonly leavesAtEnd?: boolean;
  /** The time after which the caller leaves, in milliseconds. */
  readonly leavesAfterMs?: number;
  /** The time for which the caller reads nothing after the first bytes of its answer, in milliseconds. */
  readonly pausesForMs?: number;
  /** How the body stops in its middle: the rest never comes, or the connection breaks. */
  readonly stops?: "silent" | "broken";
}

/** Sends one request and reads the response at a random speed. An impatient caller may leave before its end. */
export async function ask(
  turn: Wish,
  scene: CallerScene,
): Promise<Asked> {
  const { time, random, trace, asked } = scene;
  const conversation = turn.parent ?? turn.session;
  const replica = routeOf(conversation, scene);
  const one: Asked = {
    ...{ ...turn, conversation, number: scene.nextNumber() },
    isBackground: turn.isBatch === true || turn.parent !== undefined,
    startedMs: time.elapsedMs(),
    ...{ sentMs: undefined, respondedMs: undefined, leftMs: undefined },
    replica: replica && `${replica.name}.${replica.starts}`,
    ...{ status: undefined, headers: undefined, text: "", ending: undefined },
    ...{ outputMs: undefined, endedMs: undefined },
  };
  asked.push(one);
  trace.note(
    `#${one.number} : ${turn.agent.name} asks ${turn.protocol} for ${turn.model}${
      turn.isStream ? " as a stream" : ""
    }`,
  );
  const leaving = new AbortController();
  const leavesAfterMs = turn.leavesAfterMs ??
    (!turn.isPatient && random.below(12) === 0
      ? random.below(random.pick([200, 3000, 60_000]))
      : undefined);
  const stopLeaving = leavesAfterMs !== undefined
    ? time.schedule(leavesAfterMs, () => {
      trace.note(`#${one.number} leaves`);
      one.ending ??= "left";
      one.leftMs = time.elapsedMs();
      leaving.abort();
    })
    : () => {};
  const running = replica?.running;
  const isSlow = !turn.isPrompt && random.below(10) === 0;
  try {
    if (running === undefined) throw new ProcessEnded();
    const reading = { signal: leaving.signal, time, random };
    const request = requestOf(one, turn, reading);
    const response = await Promise.race([
      running.gateway.handler(request),
      running.ended,
    ]);
    one.status = response.status;
    one.respondedMs = time.elapsedMs();
    one.headers = response.headers;
    trace.note(`#${one.number} gets ${response.status}`);
    await Promise.race([
      readBody(one, response, {
        ...{ turn, leaving, time, random, isSlow },
        left: turn.leavesAtEnd ? request.signal : leaving.signal,
      }),
      running.ended,
    ]);
    one.ending ??= turn.stops === "broken" ? "left" : "complete";
  } catch (cause) {
    one.ending ??= cause instanceof ProcessEnded ? "lost" : "broken";
  }
  stopLeaving();
  one.endedMs = time.elapsedMs();
  trace.note(`#${one.number} ends ${one.ending} after ${one.text.length}`);
  return one;
}

/** Returns the replica that a load balancer chooses: one that is up, and mostly the same one for a session. */
export function routeOf(
  session: string,
  { replicas, random }: CallerScene,
): Replica | undefined {
  const up = replicas.filter(({ running }) => running !== undefined);
  if (up.length === 0) return undefined;
  if (up.length > 1 && random.below(6) === 0) return random.pick(up);
  const digits = Number(session.split("-").at(-1)) || 0;
  const own = replicas[digits % replicas.length];
  return own?.running === undefined ? up[0] : own;
}

const LAST_EVENT_REGEXP =
  /(?:\[DONE\]|"type":"(?:message_stop|response\.completed)"[^\n]*)\n\n/;

async function readBody(
  one: Asked,
  response: Response,
  { turn, leaving, left, time, random, isSlow }: {
    readonly turn: Wish;
    readonly leaving: AbortController;
    /** Aborts when the caller has left. A real server aborts the request first; here the body is cancelled first. */
    readonly left: AbortSignal;
    readonly time: VirtualTime;
    readonly random: Random;
    readonly isSlow: boolean;
  },
): Promise<void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  // A server cancels the body when its caller disconnects.
  const cancel = () =>
    void reader.cancel(new Error("The caller left")).catch(() => {});
  if (left.aborted) cancel();
  left.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (one.ending === "left") return;
    if (done) break;
    const isFirst = response.status === 200 && one.outputMs === undefined;
    if (isFirst) one.outputMs = time.elapsedMs();
    one.text += decoder.decode(value, { stream: true });
    if (turn.leavesAtEnd && LAST_EVENT_REGEXP.test(one.text)) {
      one.ending = "left";
      return leaving.abort();
    }
    if (isSlow) await time.sleep(random.below(3000));
    if (isFirst && turn.pausesForMs) await time.sleep(turn.pausesForMs);
  }
  one.text += decoder.decode();
}

/** A header that the gateway forwards unchanged. */
export const KEPT_HEADER = "x-team";

/** Headers that stay at the gateway (docs/http.md#headers). */
export const PRIVATE_HEADERS: Readonly<Record<string, string>> = {
  cookie: "sid=mg_secret_cookie",
  "proxy-authorization": "Basic mg_secret_proxy",
  "x-forwarded-for": "10.20.30.40",
  forwarded: "for=10.20.30.40",
  "cf-connecting-ip": "10.20.30.40",
  "openai-organization": "org-of-the-caller",
  te: "trailers",
};

function requestOf(
  one: Asked,
  wish: Wish,
  { signal, time, random }: {
    readonly signal: AbortSignal;
    readonly time: VirtualTime;
    readonly random: Random;
  },
): Request {
  const { number, agent, session, protocol, model, isStream } = one;
  const { stops, isPrompt, promptLength, toolCalls = 0, parent } = wish;
  const length = promptLength ?? random.below(2000);
  const text = `Prompt #${number}# ${"x".repeat(length)}`;
  const whole = JSON.stringify({
    ...bodyOf(protocol, {
      ...{ model, isStream, text, toolCalls, callId: wish.callId },
      said: wish.said ?? [],
      hasTools: toolCalls > 0 || random.below(3) > 0,
      withUsage: random.below(2) === 0,
    }),
    ...wish.fields,
  });
  const body = damaged(whole, wish.damage);
  const isWhole = stops === undefined && (isPrompt || random.below(3) > 0);
  if (isWhole) one.sentMs = time.elapsedMs();
  return new Request(`http://gateway.example${PATHS[protocol]}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...isWhole ? { "content-length": String(byteLength(body)) } : {},
      [protocol === "messages" ? "x-api-key" : "authorization"]:
        protocol === "messages" ? agent.token : `Bearer ${agent.token}`,
      // As Codex and opencode name a session, and opencode its sub-agents.
      ...parent === undefined
        ? { "session-id": session }
        : { "x-session-id": session, "x-parent-session-id": parent },
      ...wish.isBatch ? { "x-priority": "batch" } : {},
      ...PRIVATE_HEADERS,
      [KEPT_HEADER]: `kept-${number}`,
      ...protocol === "messages" ? { "anthropic-version": "2023-06-01" } : {},
    },
    body: isWhole ? body : inPieces(body, {
      ...{ time, random, stops },
      onSent: () => one.sentMs = time.elapsedMs(),
    }),
    signal,
  });
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function inPieces(
  text: string,
  { time, random, stops, onSent }: {
    readonly time: VirtualTime;
    readonly random: Random;
    readonly stops: Wish["stops"];
    readonly onSent: () => void;
  },
): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await time.sleep(random.below(500));
      if (stops === "broken" && at > 0) throw new Error("Connection reset");
      if (stops === "silent" && at > 0) return await new Promise(() => {});
      const next = at + 1 + random.below(bytes.length - at);
      controller.enqueue(bytes.slice(at, next));
      at = next;
      if (at < bytes.length) return;
      controller.close();
      onSent();
    },
  }, { highWaterMark: 0 });
}

/** Returns an invalid body. */
function damaged(body: string, damage: Wish["damage"]): string {
  if (damage === "cut") return body.slice(0, body.length / 2);
  const metadata = damage === "deep"
    ? "[".repeat(9000) + "]".repeat(9000)
    : '{"user_id":[7]},"messages":7,"input":{"a":7}';
  return damage === undefined
    ? body
    : `${body.slice(0, -1)},"metadata":${metadata}}`;
}

interface BodyParts {
  readonly model: string;
  readonly isStream: boolean;
  readonly text: string;
  readonly toolCalls: number;
  readonly callId: string | undefined;
  readonly said: readonly JsonObject[];
  readonly hasTools: boolean;
  readonly withUsage: boolean;
}

const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

/** Reasoning of a connection that no longer exists, sealed by the gateway. */
const SEALED = wrapSealed({
  ...{ protocol: "chat", form: "reasoning_details", value: "[]" },
  origin: "a connection that is gone",
});

/** A tool call with its reasoning and its result, as a client sends them back. */
const CALLED: Readonly<Record<Protocol, (id: string) => JsonObject[]>> = {
  chat: (id) => [
    {
      ...{ role: "assistant", content: null },
      reasoning_details: [{ type: "reasoning.encrypted", data: SEALED }],
      tool_calls: [{
        ...{ id, type: "function" },
        function: { name: "weather", arguments: '{"city":"Bonn"}' },
      }],
    },
    { role: "tool", tool_call_id: id, content: "Rain" },
  ],
  messages: (id) => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Rain?", signature: SEALED },
        {
          ...{ type: "tool_use", id, name: "weather" },
          input: { city: "Bonn" },
        },
      ],
    },
    {
      role: "user",
      content: [{
        ...{ type: "tool_result", tool_use_id: id },
        content: "Rain",
      }],
    },
  ],
  responses: (id) => [
    { type: "reasoning", summary: [], encrypted_content: SEALED },
    {
      ...{ type: "function_call", call_id: id, name: "weather" },
      arguments: '{"city":"Bonn"}',
    },
    {
      ...{ type: "function_call_output", call_id: id },
      output: "Rain",
    },
  ],
};

function bodyOf(protocol: Protocol, parts: BodyParts): JsonObject {
  const { model, isStream, text, toolCalls, hasTools, withUsage } = parts;
  const { callId, said } = parts;
  const messages: JsonObject[] = [
    { role: "user", content: text },
    ...Array.from(
      { length: toolCalls },
      (_, at) => CALLED[protocol](callId ?? `call_then_${at}`),
    ).flat(),
    ...said,
  ];
  const stream = isStream ? { stream: true } : {};
  if (protocol === "messages") {
    const tool = { name: "weather", input_schema: CITY };
    const tools = hasTools ? { tools: [tool] } : {};
    return { model, ...stream, max_tokens: 1000, messages, ...tools };
  }
  const tool = { name: "weather", parameters: CITY };
  if (protocol === "responses") {
    const tools = hasTools ? { tools: [{ type: "function", ...tool }] } : {};
    return { model, ...stream, input: messages, store: false, ...tools };
  }
  return {
    model,
    ...stream,
    ...isStream && withUsage ? { stream_options: { include_usage: true } } : {},
    messages,
    ...hasTools ? { tools: [{ type: "function", function: tool }] } : {},
  };
}
