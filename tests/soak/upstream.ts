/**
 * The upstream of the soak, in its own process. It follows the question in each prompt, and counts
 * open answers and cancellations.
 */
import type { Protocol } from "../../src/base/protocol.ts";
import { protocolOfPath } from "../support/wire/wire.ts";
import { findQuestion, type Question, wordsOf } from "./question.ts";
import { jsonAnswer, streamPieces } from "./speech.ts";

const encoder = new TextEncoder();

const MIB = 1024 * 1024;

/** The pause between two words, in milliseconds. */
const PAUSES_MS: Partial<Record<Question["behaviour"], number>> = {
  trickle: 5,
  speak: 200,
};

/** The pause before a late answer, in milliseconds. */
const LATE_MS = 4_000;

let open = 0;

/** The time at which each question was cancelled, by tag, in milliseconds since 1970. */
let leftMs: Record<string, number> = {};

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
  onError: () => new Response(null, { status: 500 }),
}, async (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/account") return tellAccount();
  if (pathname === "/quota") return Response.json({ used: 12, limit: 100 });
  const body = await edgesOf(request);
  const question = findQuestion(body);
  if (question === undefined) return new Response(null, { status: 404 });
  return await answer(question, {
    protocol: protocolOfPath(pathname),
    isStream: body.includes('"stream":true'),
    signal: request.signal,
  });
});

/** The question is within this distance from one end of the body. */
const EDGE_BYTES = 64 * 1024;

/** Reads the beginning and the end of a body: there is no memory for many long bodies at once. */
async function edgesOf({ body }: Request): Promise<string> {
  let [head, tail] = ["", ""];
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    const text = decoder.decode(chunk, { stream: true });
    if (head.length < EDGE_BYTES) head += text;
    else tail = (tail + text).slice(-EDGE_BYTES);
  }
  return head + tail;
}

function tellAccount(): Response {
  const account = { open, leftMs };
  leftMs = {};
  return Response.json(account);
}

interface Asked {
  readonly protocol: Protocol;
  readonly isStream: boolean;
  readonly signal: AbortSignal;
}

async function answer(question: Question, asked: Asked): Promise<Response> {
  const { behaviour, words } = question;
  const { protocol, isStream } = asked;
  if (behaviour === "refuse") return refusal(question);
  if (behaviour === "wait") return await silence(question, asked);
  if (behaviour === "late") {
    await new Promise((resolve) => setTimeout(resolve, LATE_MS));
  }
  if (behaviour === "huge") return huge(words, protocol);
  const pieces = isStream
    ? streamPieces(protocol, wordsOf(question))
    : halves(jsonAnswer(protocol, wordsOf(question)));
  if ((behaviour === "whole" || behaviour === "late") && !isStream) {
    return new Response(pieces.join(""), headersOf(isStream));
  }
  return new Response(
    bodyOf(script(behaviour, pieces), question),
    headersOf(isStream),
  );
}

function refusal({ tag }: Question): Response {
  const error = { type: "invalid_request_error", message: `no ${tag}` };
  return Response.json({ type: "error", error }, { status: 400 });
}

function headersOf(isStream: boolean): ResponseInit {
  const type = isStream ? "text/event-stream" : "application/json";
  return { headers: { "content-type": type } };
}

/** Splits JSON into two chunks, so that there is a middle. */
function halves(text: string): string[] {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}

/** The next step: a chunk, the end, a break, or silence. */
type Step = string | "end" | "break" | "silence";

/** Returns the chunks of an answer for a behaviour, and the pause between two in milliseconds. */
function script(
  behaviour: Question["behaviour"],
  pieces: readonly string[],
): { next(): Step; pauseMs: number } {
  const [first = "", second = ""] = pieces;
  let sent = 0;
  const next = (): Step => {
    const index = sent++;
    switch (behaviour) {
      case "cut":
        return index < pieces.length >> 1 ? pieces[index] ?? "" : "break";
      case "begin":
        return index === 0 ? first : index === 1 ? second : "silence";
      case "trickle":
      case "speak":
        return index === 0 ? first : second;
      case "flood":
        return index === 0 ? first : second.repeat(64);
      case "one-event":
        return index === 0 ? first : index === 1 ? "data: x" : "x".repeat(MIB);
      default:
        return pieces[index] ?? "end";
    }
  };
  return { next, pauseMs: PAUSES_MS[behaviour] ?? 0 };
}

function bodyOf(
  { next, pauseMs }: ReturnType<typeof script>,
  { tag, behaviour }: Question,
): ReadableStream<Uint8Array> {
  open++;
  const halfBegun = behaviour === "begin";
  return new ReadableStream({
    async pull(controller) {
      if (pauseMs > 0) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      const step = next();
      if (step === "silence") return await new Promise<never>(() => {});
      if (step === "end" || step === "break") open--;
      if (step === "end") return controller.close();
      if (step === "break") return controller.error(new Error("cut"));
      controller.enqueue(encoder.encode(step));
    },
    cancel() {
      open--;
      leave(tag);
    },
  }, { highWaterMark: halfBegun ? 1 : 0 });
}

function silence({ tag }: Question, { signal }: Asked): Promise<never> {
  open++;
  return new Promise((_, reject) => {
    const end = () => {
      open--;
      leave(tag);
      reject(new Error("left"));
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

function leave(tag: string): void {
  leftMs[tag] = performance.timeOrigin + performance.now();
}

/** Returns a JSON answer of `mib` MiB. */
function huge(mib: number, protocol: Protocol): Response {
  const [before = "", after = ""] = jsonAnswer(protocol, ["@@"]).split("@@");
  const piece = encoder.encode("x".repeat(MIB));
  let sent = -1;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent++;
      if (sent === 0) controller.enqueue(encoder.encode(before));
      else if (sent <= mib) controller.enqueue(piece.slice());
      else {
        controller.enqueue(encoder.encode(after));
        controller.close();
      }
    },
  }, { highWaterMark: 0 });
  return new Response(body, headersOf(false));
}
