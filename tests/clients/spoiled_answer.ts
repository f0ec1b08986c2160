import { isJsonObject, parseJson } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type { Spoil } from "./upstreams.ts";

/** A fault that a provider has once. */
export interface OneFault {
  /** The fault, as the end of a sentence whose subject is the provider. */
  readonly name: string;
  /** True when it affects an answer that calls a tool. */
  readonly isCall: boolean;
  /** The caller's error message, when the fault follows some text. */
  readonly printed?: RegExp;
  /** @param answer The whole text of a good stream. */
  readonly spoil: (answer: string, protocol: Protocol) => Response;
}

/** The faults from which every client must recover. */
export const FAULTS: readonly OneFault[] = [
  { name: "refuses with 429 and Retry-After", isCall: false, spoil: limited },
  {
    name: "cuts the connection in the middle",
    isCall: false,
    printed: /provider broke off/,
    spoil: (answer) => cut(firstHalf(answer)),
  },
  {
    name: "ends the stream in the middle",
    isCall: false,
    printed: /stream ended before/,
    spoil: (answer) => stream(firstHalf(answer)),
  },
  {
    name: "ends the stream in the middle of an event",
    isCall: false,
    printed: /stream ended before/,
    spoil: (answer) => stream(`${firstHalf(answer)}data: {"id":"c`),
  },
  {
    name: "sends an event that is not JSON",
    isCall: false,
    printed: /not a JSON object/,
    spoil: (answer) => stream(`${firstHalf(answer)}data: {"id":oops}\n\n`),
  },
  {
    name: "reports an error in the stream",
    isCall: false,
    printed: /engine gave up|Overloaded/,
    spoil: (answer, protocol) => stream(firstHalf(answer) + ERRORS[protocol]),
  },
  {
    name: "cuts the connection after a call's arguments",
    isCall: true,
    spoil: (answer) => cut(untilArguments(answer)),
  },
];

/**
 * Applies the fault to the first request of a conversation. Other requests, such as one for a
 * title, have no tools.
 */
export function spoilOnce({ spoil }: OneFault, protocol: Protocol): Spoil {
  let isDone = false;
  return async (answer, { body }) => {
    const request = parseJson(body);
    const tools = isJsonObject(request) ? request.tools : undefined;
    if (isDone || !Array.isArray(tools) || tools.length === 0) return answer;
    isDone = true;
    return spoil(await answer.text(), protocol);
  };
}

/** A `Retry-After` for which the gateway does not wait, in seconds. */
const RETRY_AFTER_S = 6;

function limited(_answer: string, protocol: Protocol): Response {
  const error = { type: "rate_limit_error", message: "Too many requests" };
  const body = protocol === "messages" ? { type: "error", error } : { error };
  return Response.json(body, {
    status: 429,
    headers: { "retry-after": String(RETRY_AFTER_S) },
  });
}

/** Errors of real providers in the middle of a stream. */
const ERRORS: Readonly<Record<Protocol, string>> = {
  chat:
    'data: {"error":{"message":"The engine gave up","type":"server_error","code":null}}\n\n',
  messages:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  responses:
    'event: response.failed\ndata: {"type":"response.failed","sequence_number":99,"response":{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"The engine gave up"},"output":[]}}\n\n',
};

function firstHalf(answer: string): string {
  const frames = framesOf(answer);
  return frames.slice(0, Math.ceil(frames.length / 2)).join("");
}

const ARGUMENTS_REGEXP =
  /"tool_calls":\s*\[|input_json_delta|function_call_arguments\.delta/;

function untilArguments(answer: string): string {
  const frames = framesOf(answer);
  const last = frames.findLastIndex((frame) => ARGUMENTS_REGEXP.test(frame));
  return frames.slice(0, last + 1).join("");
}

function framesOf(answer: string): string[] {
  return answer.split("\n\n").filter((frame) => frame !== "")
    .map((frame) => `${frame}\n\n`);
}

const STREAM = { headers: { "content-type": "text/event-stream" } };

function stream(text: string): Response {
  return new Response(text, STREAM);
}

/** Returns a stream whose connection breaks after `text`. */
function cut(text: string): Response {
  const pieces = [text];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) {
        return controller.enqueue(new TextEncoder().encode(piece));
      }
      controller.error(new TypeError("connection reset by peer"));
    },
  }, { highWaterMark: 0 });
  return new Response(body, STREAM);
}
