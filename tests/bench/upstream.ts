/**
 * The upstream of the benchmark. It responds at once, so that the measurement shows the program
 * before it. It speaks Chat Completions, Messages and Responses. Below `/large`, a chunk of a
 * stream holds many events, as from a provider or proxy that batches. Elsewhere each event is a
 * chunk of its own.
 *
 * Arguments: a certificate and its key, to serve over TLS.
 */
import {
  answers,
  longAnswer,
  type SpokenProtocol,
  streamEvents,
  turnEvents,
} from "./answers.ts";
import { PACE_MS, PACED_EVENTS, sentNow } from "./paced.ts";
import { TURN_EVENTS, TURN_PACE_MS } from "./turns.ts";

const [certFile, keyFile] = Deno.args;

/** The number of events in a large chunk. */
const EVENTS_PER_CHUNK = 50;

const EVENTS = 300;

/** The chunks of a stream, by protocol. */
const PIECES: Readonly<
  Record<SpokenProtocol, Record<"small" | "large", readonly Uint8Array[]>>
> = {
  chat: piecesOf("chat"),
  messages: piecesOf("messages"),
  responses: piecesOf("responses"),
};

function piecesOf(protocol: SpokenProtocol) {
  const encoder = new TextEncoder();
  const small = streamEvents(protocol, EVENTS);
  const large: string[] = [];
  for (let at = 0; at < small.length; at += EVENTS_PER_CHUNK) {
    large.push(small.slice(at, at + EVENTS_PER_CHUNK).join(""));
  }
  return {
    small: small.map((text) => encoder.encode(text)),
    large: large.map((text) => encoder.encode(text)),
  };
}

function stream(pieces: readonly Uint8Array[]): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces[next++];
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}

const MIB = 1024 * 1024;

const longAnswers = new Map<string, Uint8Array<ArrayBuffer>>();

function longResponse(
  protocol: SpokenProtocol,
  bytes: number,
  isStream: boolean,
): Response {
  const key = `${protocol} ${bytes} ${isStream}`;
  const answer = longAnswers.get(key) ??
    new TextEncoder().encode(longAnswer(protocol, bytes, isStream));
  longAnswers.set(key, answer);
  if (!isStream) return json(answer);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < answer.length; at += PIECE_BYTES) {
    pieces.push(answer.subarray(at, at + PIECE_BYTES));
  }
  return stream(pieces);
}

function json(body: string | Uint8Array<ArrayBuffer>): Response {
  return new Response(body, {
    headers: { "content-type": "application/json" },
  });
}

const PIECE_BYTES = 64 * 1024;

/** The events of an agent's turn, by protocol. */
const TURNS: Readonly<Record<SpokenProtocol, readonly Uint8Array[]>> = {
  chat: turnOf("chat"),
  messages: turnOf("messages"),
  responses: turnOf("responses"),
};

function turnOf(protocol: SpokenProtocol): readonly Uint8Array[] {
  const encoder = new TextEncoder();
  return turnEvents(protocol, TURN_EVENTS).map((text) => encoder.encode(text));
}

/** Sends an agent's turn at the speed of a fast model. */
function turnStream(protocol: SpokenProtocol): Response {
  const events = TURNS[protocol];
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let next = 0;
      timer = setInterval(() => {
        const event = events[next++];
        if (event !== undefined) return controller.enqueue(event);
        clearInterval(timer);
        controller.close();
      }, TURN_PACE_MS);
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}

/** Sends one event after another, each marked with the moment at which it is sent. */
function pacedStream(protocol: SpokenProtocol): Response {
  const [begin, text, end] = pacedEvents(protocol);
  const encoder = new TextEncoder();
  let sent = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(begin));
      timer = setInterval(() => {
        controller.enqueue(encoder.encode(text.replace("TEXT", sentNow())));
        if (++sent < PACED_EVENTS) return;
        clearInterval(timer);
        controller.enqueue(encoder.encode(end));
        controller.close();
      }, PACE_MS);
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}

/** The events of a stream with a single event of text. */
const FEW_EVENTS: Readonly<Record<SpokenProtocol, number>> = {
  chat: 4,
  messages: 6,
  responses: 7,
};

const ONLY_WORD = " word0";

/** The beginning of a stream, the event of a text, and the end. */
function pacedEvents(
  protocol: SpokenProtocol,
): readonly [string, string, string] {
  const events = streamEvents(protocol, FEW_EVENTS[protocol]);
  const at = events.findIndex((event) => event.includes(ONLY_WORD));
  return [
    events.slice(0, at).join(""),
    events[at]?.replace(ONLY_WORD, "TEXT") ?? "",
    events.slice(at + 1).join("").replaceAll(ONLY_WORD, "all"),
  ];
}

/** The upstream discards longer bodies while it reads them. */
const MAX_KEPT_BYTES = 1e6;

async function wantsStream(request: Request): Promise<boolean> {
  if (Number(request.headers.get("content-length")) <= MAX_KEPT_BYTES) {
    return (await request.text()).includes('"stream":true');
  }
  for await (const _ of request.body ?? []) {
    // Reads the rest without keeping it.
  }
  return false;
}

function protocolOf(path: string): SpokenProtocol {
  if (path.endsWith("/messages")) return "messages";
  return path.endsWith("/responses") ? "responses" : "chat";
}

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
  ...(certFile === undefined || keyFile === undefined ? {} : {
    cert: await Deno.readTextFile(certFile),
    key: await Deno.readTextFile(keyFile),
  }),
}, async (request) => {
  const { pathname } = new URL(request.url);
  const protocol = protocolOf(pathname);
  const isStream = await wantsStream(request);
  const [, longMib] = /^\/long(\d+)/.exec(pathname) ?? [];
  if (longMib !== undefined) {
    return longResponse(protocol, Number(longMib) * MIB, isStream);
  }
  if (isStream) {
    if (pathname.startsWith("/turn")) return turnStream(protocol);
    if (pathname.startsWith("/paced")) return pacedStream(protocol);
    const size = pathname.startsWith("/large") ? "large" : "small";
    return stream(PIECES[protocol][size]);
  }
  return json(answers[protocol]);
});
