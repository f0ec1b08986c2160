/**
 * The upstream of the part about connections, in its own process. It speaks TLS and offers HTTP/2
 * with few streams per connection, as large providers do. A hop before it can lose its bytes. Its
 * ready line names a port without TLS that reports its state.
 */
import type { Http2ServerResponse } from "node:http2";
import { startSecureUpstream } from "../support/upstream/secure_upstream.ts";
import { startTcpRelay } from "../support/upstream/tcp_relay.ts";
import { pause } from "./ask.ts";
import { findQuestion, wordsOf } from "./question.ts";
import { jsonAnswer } from "./speech.ts";

/** The most streams on one HTTP/2 connection. */
const MAX_STREAMS = 4;

/** The time before a short answer, in milliseconds. */
const ANSWER_MS = Number(Deno.args[0] ?? 0);

/** An event of a Chat Completions stream, as long as the buffer of one socket. */
const LONG_EVENT = `data: ${
  JSON.stringify({
    choices: [{ index: 0, delta: { content: "x".repeat(64 * 1024) } }],
  })
}\n\n`;

const upstream = await startSecureUpstream(async (_, response, body) => {
  const question = findQuestion(body);
  if (question?.behaviour === "flood") return flood(response);
  await pause(ANSWER_MS);
  const isKnown = question !== undefined;
  response.writeHead(isKnown ? 200 : 404, {
    "content-type": "application/json",
  });
  response.end(isKnown ? jsonAnswer("chat", wordsOf(question)) : "{}");
}, MAX_STREAMS);

const hop = startTcpRelay(upstream.port);

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`listening on :${port}`),
}, (request) => {
  if (request.method === "POST") hop.swallow();
  return Response.json({
    url: upstream.url,
    hopUrl: `https://127.0.0.1:${hop.port}`,
    versions: [...new Set(upstream.versions)],
  });
});

/** Sends as fast as the reader reads, without end. */
function flood(response: Http2ServerResponse): void {
  const pour = () => {
    while (response.write(LONG_EVENT)) {
      // The socket accepts more.
    }
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.on("drain", pour);
  response.on("error", () => response.removeListener("drain", pour));
  pour();
}
