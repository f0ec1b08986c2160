import assert from "node:assert/strict";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { within } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { isJsonObject, parseJson } from "../../../src/base/json.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";

const MIB = 1024 * 1024;

const WHOLE_MIB = 64;

/** The most MiB that the gateway, this test and both sockets buffer. */
const MAX_AHEAD_MIB = 48;

/** Returns a body of a text and `mib` further MiB, and counts the MiB that were read. */
function longBody(start: string, piece: string, mib: number, end = "") {
  const encoder = new TextEncoder();
  const bytes = encoder.encode(piece.repeat(MIB / piece.length));
  const taken = { mib: 0 };
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(start));
    },
    pull(controller) {
      if (taken.mib === mib) {
        if (end !== "") controller.enqueue(encoder.encode(end));
        return controller.close();
      }
      taken.mib++;
      controller.enqueue(bytes.slice());
    },
    cancel: () => cancelled.resolve(),
  }, { highWaterMark: 0 });
  return { body, taken, cancelled: cancelled.promise };
}

const TRANSLATED = { model: "model-b" };

Deno.test("a long JSON answer is forwarded as it arrives, and little of it is read ahead of the caller", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const { body, taken } = longBody(`{"text":"`, "x", WHOLE_MIB, `"}`);
  upstream.play(() => new Response(body, { headers: JSON_HEADERS }));
  const answer = await gateway.ask("chat");
  let read = 0;
  let ahead = 0;
  for await (const chunk of answer.body ?? []) {
    read += chunk.length;
    ahead = Math.max(ahead, taken.mib - read / MIB);
  }
  assert.equal(read, `{"text":""}`.length + WHOLE_MIB * MIB);
  assert.ok(ahead < MAX_AHEAD_MIB, `${ahead} MiB were ahead`);
  const line = await gateway.lines.requests.next();
  assert.equal(line.bytes_out, read);
  assert.equal(line.ended, "complete");
});

Deno.test("JSON that is too long to be translated is an error, and the rest of it is not read", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const cancelled: Promise<void>[] = [];
  upstream.play(() => {
    const long = longBody(`{"text":"`, "x", Infinity);
    cancelled.push(long.cancelled);
    return new Response(long.body, { headers: JSON_HEADERS });
  });
  const question = ask("chat", hello("chat", TRANSLATED));
  const answer = await gateway.call(PATHS.chat, question);
  const { status, headers } = answer;
  const error = errorAnswer(
    { status, headers, body: await answer.text() },
    "chat",
  );
  assert.equal(error.status, 502);
  assert.match(error.message, /too long/);
  assert.equal(error.code, "upstream_oversized");
  await within(Promise.all(cancelled), "the upstream's answer to be cancelled");
  assert.equal(cancelled.length, 1, "it was asked for again");
  const line = await gateway.lines.requests.next();
  assert.equal(line.ended, "error");
  assert.equal(line.error, "upstream_oversized");
});

Deno.test("a translated stream whose event never ends becomes an error, and the rest of it is not read", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const { start, output } = WIRES.messages;
  const begin = `${start}${output}data: `;
  const { body, cancelled } = longBody(begin, "x", Infinity);
  upstream.play(() => new Response(body, { headers: SSE_HEADERS }));
  const question = ask("chat", hello("chat", { ...TRANSLATED, stream: true }));
  const answer = await gateway.call(PATHS.chat, question);
  assert.equal(answer.status, 200);
  const text = await answer.text();
  assert.match(text, /event: error\n/);
  assert.doesNotMatch(text, /\[DONE\]/);
  await within(cancelled, "the upstream's answer to be cancelled");
  const line = await gateway.lines.requests.next();
  assert.equal(line.ended, "error");
  assert.equal(line.failure, "oversized");
});

Deno.test("a native stream whose event never ends is forwarded while its caller reads", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const { body, cancelled } = longBody("data: ", "x", Infinity);
  upstream.play(() => new Response(body, { headers: SSE_HEADERS }));
  const answer = await gateway.ask("chat");
  let read = 0;
  for await (const chunk of answer.body ?? []) {
    read += chunk.length;
    if (read > WHOLE_MIB * MIB) break;
  }
  await within(cancelled, "the upstream's answer to be cancelled");
  const line = await gateway.lines.requests.next();
  assert.equal(line.ended, "client_abort");
});

const CHUNKS = [
  { delta: { role: "assistant", content: "A long " } },
  { delta: { content: "answer." } },
  { delta: {}, finish_reason: "stop" },
].map((choice) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, ...choice }],
}));

const USAGE = { prompt_tokens: 3, completion_tokens: 5000, total_tokens: 5003 };

// "Requests with max_tokens > 4096 must have stream=true": https://github.com/nullclaw/nullclaw/pull/231
Deno.test("a long JSON answer is requested from Fireworks as a stream, and reaches the caller as JSON with its usage", async () => {
  await using upstream = startUpstream((seen) => {
    const body = parseJson(seen.text());
    assert.ok(isJsonObject(body));
    return body.stream === true
      ? new Response(
        sseBytes(
          ...CHUNKS,
          { ...CHUNKS[0], choices: [], usage: USAGE },
          "[DONE]",
        ),
        { headers: { "content-type": "text/event-stream" } },
      )
      : Response.json({
        error: {
          message: "Requests with max_tokens > 4096 must have stream=true",
        },
      }, { status: 400 });
  });
  await using gateway = await startGateway(minimalFile({
    connections: [
      connectionFile({
        family: undefined,
        service: "fireworks",
        endpoints: { chat: `${upstream.url}/v1` },
        models: ["kimi-k2p6"],
      }),
    ],
  }));
  const response = await gateway.ask(
    "responses",
    hello("responses", { model: "kimi-k2p6", max_output_tokens: 20_000 }),
  );
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(response.headers.get("content-type"), "application/json");
  const body = parseJson(text);
  assert.ok(isJsonObject(body) && isJsonObject(body.usage));
  assert.equal(body.status, "completed");
  assert.match(text, /"text":"A long answer\."/);
  assert.equal(body.usage.output_tokens, 5000);
});
