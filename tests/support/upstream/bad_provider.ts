import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import {
  JSON_HEADERS,
  noAnswer,
  piecewise,
  SSE_HEADERS,
} from "../wire/answers.ts";
import { protocolOfPath, type Wire, WIRES, WORDS } from "../wire/wire.ts";

/** A request that a provider received. */
export interface Asked {
  /** The host name, which is the provider's name. */
  readonly host: string;
  readonly model: string;
  readonly stream: boolean;
  /** The time of the request, in milliseconds on the test's clock. */
  readonly atMs: number;
  readonly body: JsonObject;
  readonly wire: Wire;
  readonly signal: AbortSignal;
  /** Called for each chunk of a long body. */
  readonly onPiece: () => void;
}

/** A provider's action on a request. */
export type Act = (asked: Asked) => Response | Promise<Response>;

/** Scripted providers, in place of the network. */
export interface BadProviders {
  readonly fetch: Fetch;
  /** Every request, in order. */
  readonly asked: readonly Asked[];
  /** The host of each request, in order. */
  hosts(): readonly string[];
  /** The number of chunks sent of long bodies. */
  pieces(): number;
}

/**
 * Creates providers by host name. Each performs its acts in order, one per request, and repeats the
 * last.
 *
 * @param elapsedMs The test's clock.
 */
export function badProviders(
  scripts: Readonly<Record<string, readonly Act[]>>,
  elapsedMs: () => number,
): BadProviders {
  const asked: Asked[] = [];
  let pieces = 0;
  const fetch: Fetch = async (url, init) => {
    const { hostname, pathname } = new URL(url);
    const acts = scripts[hostname];
    if (acts === undefined) throw new TypeError("dns error: no such host");
    const body: unknown = await new Response(init.body).json();
    if (!isJsonObject(body)) throw new TypeError("The body is no object");
    const one: Asked = {
      host: hostname,
      model: String(body.model),
      stream: body.stream === true,
      atMs: elapsedMs(),
      body,
      wire: WIRES[protocolOfPath(pathname)],
      signal: init.signal ?? new AbortController().signal,
      onPiece: () => void pieces++,
    };
    const count = asked.filter(({ host }) => host === hostname).length;
    asked.push(one);
    const act = acts[Math.min(count, acts.length - 1)];
    if (act === undefined) throw new TypeError("The script is empty");
    return await act(one);
  };
  return {
    fetch,
    asked,
    hosts: () => asked.map(({ host }) => host),
    pieces: () => pieces,
  };
}

/** Returns a complete answer, streamed or as JSON as the request asks. */
export function good({ stream, wire }: Asked): Response {
  const { start, output, end, answer } = wire;
  if (!stream) return Response.json(answer);
  return new Response(start + output + end, { headers: SSE_HEADERS });
}

/** Returns an error with a status. */
export function status(
  code: number,
  { type = "api_error", message = "It is broken", errorCode, headers = {} }: {
    readonly type?: string;
    readonly message?: string;
    readonly errorCode?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Act {
  return ({ wire }) =>
    Response.json(wire.error(type, message, errorCode), {
      status: code,
      headers,
    });
}

/** Resets the connection before the response headers. */
export function reset(): never {
  throw new TypeError("error sending request", {
    cause: new Error("connection closed before message completed"),
  });
}

/** Never responds. */
export function silent({ signal }: Asked): Promise<never> {
  return noAnswer({ signal });
}

/** Returns a stream of these chunks, which then ends, breaks, or stays silent. */
export function streamOf(
  pieces: (wire: Wire) => readonly string[],
  then: "end" | "break" | "stall",
): Act {
  return ({ wire, signal }) => {
    const rest = [...pieces(wire)];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => {
          try {
            controller.error(signal.reason);
          } catch {
            // The gateway has cancelled the body already.
          }
        }, { once: true });
      },
      pull(controller) {
        const piece = rest.shift();
        if (piece !== undefined) {
          controller.enqueue(new TextEncoder().encode(piece));
        } else if (then === "end") controller.close();
        else if (then === "break") {
          controller.error(new TypeError("connection reset by peer"));
        } else return new Promise(() => {});
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: SSE_HEADERS });
  };
}

const MIB = 1024 * 1024;

/** A length that exceeds what the gateway holds of any answer, in MiB. */
const TOO_LONG_MIB = 128;

/**
 * Returns an answer with chunks of about a MiB. It ends when the reader cancels, or after
 * `TOO_LONG_MIB`.
 */
export function tooLong(
  piecesOf: (wire: Wire) => { readonly begin: string; readonly piece: string },
  headers: Readonly<Record<string, string>>,
): Act {
  return ({ wire, onPiece }) => {
    const { begin, piece } = piecesOf(wire);
    const bytes = new TextEncoder().encode(piece);
    let given = 0;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(begin)),
      pull(controller) {
        if (given++ === TOO_LONG_MIB) return controller.close();
        onPiece();
        controller.enqueue(bytes.slice());
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers });
  };
}

/** JSON that is too long to translate. */
export const longJson = tooLong(
  () => ({ begin: `{"text":"`, piece: "x".repeat(MIB) }),
  JSON_HEADERS,
);

/** A stream whose events are together too long for one JSON answer. */
export const longStream = tooLong(
  ({ start, output }) => ({
    begin: start,
    piece: output.replaceAll(WORDS, "x".repeat(MIB)),
  }),
  SSE_HEADERS,
);

/** A stream whose first output is one event that is too long. */
export const longEvent = tooLong(
  ({ start }) => ({ begin: `${start}data: `, piece: "x".repeat(MIB) }),
  SSE_HEADERS,
);

/** A stream with an event that is too long after its first output. */
export const longEventAfterOutput = tooLong(
  ({ start, output }) => ({
    begin: `${start}${output}data: `,
    piece: "x".repeat(MIB),
  }),
  SSE_HEADERS,
);

/** Returns a JSON response with status 200 and an error as its body. */
export function failureInBody({ wire }: Asked): Response {
  const text = JSON.stringify(wire.error("overloaded_error", "Overloaded"));
  const length = String(text.length);
  return new Response(text, {
    headers: { ...JSON_HEADERS, "content-length": length },
  });
}

/** Sends the body of {@linkcode failureInBody} in two chunks, without `content-length`. */
export function failureInPieces({ wire }: Asked): Response {
  const text = JSON.stringify(wire.error("overloaded_error", "Overloaded"));
  return piecewise([text.slice(0, 30), text.slice(30)], JSON_HEADERS);
}

/** Returns a successful answer with additional fields that report success. */
export function successInWords({ stream, wire }: Asked): Response {
  const { start, output, end, answer } = wire;
  if (!stream) {
    return Response.json({ ...answer, code: 0, message: "Success", error: "" });
  }
  const events = (start + output + end).replaceAll(
    "data: {",
    'data: {"code":0,"error":{"code":0,"message":""},',
  );
  return new Response(events, { headers: SSE_HEADERS });
}
