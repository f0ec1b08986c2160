import { isJsonObject, type JsonObject } from "../../../src/core/json.ts";
import type { Fetch } from "../../../src/upstream/call.ts";
import {
  JSON_HEADERS,
  noAnswer,
  piecewise,
  SSE_HEADERS,
} from "../wire/answers.ts";
import { protocolOfPath, type Wire, WIRES, WORDS } from "../wire/wire.ts";

/** A request as a provider sees it. */
export interface Asked {
  /** The host's name, which is the provider's. */
  readonly host: string;
  readonly model: string;
  readonly stream: boolean;
  /** When, in milliseconds on the test's clock. */
  readonly atMs: number;
  readonly body: JsonObject;
  readonly wire: Wire;
  readonly signal: AbortSignal;
  /** Called for each piece of an answer that is too long. */
  readonly onPiece: () => void;
}

/** What a provider does with a request. */
export type Act = (asked: Asked) => Response | Promise<Response>;

/** Providers that do what the test says, in place of the network. */
export interface BadProviders {
  readonly fetch: Fetch;
  /** Every request, in order. */
  readonly asked: readonly Asked[];
  /** Which providers were asked, in order. */
  hosts(): readonly string[];
  /** How many pieces of answers that are too long were given. */
  pieces(): number;
}

/**
 * Providers by their host's name; each goes through its acts, one a request, and repeats the last.
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

/** A whole answer, as it is asked for. */
export function good({ stream, wire }: Asked): Response {
  const { start, output, end, answer } = wire;
  if (!stream) return Response.json(answer);
  return new Response(start + output + end, { headers: SSE_HEADERS });
}

/** An error with a status. */
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

/** The connection is reset before the response headers. */
export function reset(): never {
  throw new TypeError("error sending request", {
    cause: new Error("connection closed before message completed"),
  });
}

/** Nothing ever comes. */
export function silent({ signal }: Asked): Promise<never> {
  return noAnswer({ signal });
}

/** A stream of these pieces, which then ends, breaks, or goes on for ever saying nothing. */
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
            // The gateway has let go of it already.
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

/** More than the gateway ever holds of one answer, in MiB. */
const TOO_LONG_MIB = 128;

/** An answer that goes on with a piece of about a MiB until nobody wants more of it, but not for ever. */
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

/** JSON that is too long to be translated. */
export const longJson = tooLong(
  () => ({ begin: `{"text":"`, piece: "x".repeat(MIB) }),
  JSON_HEADERS,
);

/** A stream whose events together are too long to make one answer of. */
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

/** A stream that has one after its first output. */
export const longEventAfterOutput = tooLong(
  ({ start, output }) => ({
    begin: `${start}${output}data: `,
    piece: "x".repeat(MIB),
  }),
  SSE_HEADERS,
);

/** A JSON answer with status 200 that is an error. */
export function failureInBody({ wire }: Asked): Response {
  const text = JSON.stringify(wire.error("overloaded_error", "Overloaded"));
  const length = String(text.length);
  return new Response(text, {
    headers: { ...JSON_HEADERS, "content-length": length },
  });
}

/** The same in small pieces, its length untold. */
export function failureInPieces({ wire }: Asked): Response {
  const text = JSON.stringify(wire.error("overloaded_error", "Overloaded"));
  return piecewise([text.slice(0, 30), text.slice(30)], JSON_HEADERS);
}

/** A good answer that says beside what it holds that there was no error. */
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
