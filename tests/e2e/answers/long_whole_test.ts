import assert from "node:assert/strict";
import { isJsonObject, parseJson } from "../../../src/core/json.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";

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
Deno.test("a long whole answer of Fireworks is requested as a stream, and arrives whole with its usage", async () => {
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
  const response = await gateway.call(
    PATHS.responses,
    ask(
      "responses",
      hello("responses", { model: "kimi-k2p6", max_output_tokens: 20_000 }),
    ),
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
