import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import {
  JSON_HEADERS,
  openAnswer,
  piecewise,
} from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { steps } from "../../support/steps.ts";

const STREAM = [
  `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n`,
  `data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n`,
  `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,` +
  `"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":6}}}\n\n`,
  "data: [DONE]\n\n",
];

/** Removes the times of a line, which a test cannot predict. They must be present, and in order. */
function takeTimes(
  { time, first_byte_ms, first_output_ms, total_ms, ...rest }: JsonObject,
): JsonObject {
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const order = [0, first_byte_ms, first_output_ms, total_ms];
  const numbers = order.filter((ms): ms is number => typeof ms === "number");
  assert.deepEqual(numbers, numbers.toSorted((one, other) => one - other));
  assert.ok(typeof total_ms === "number");
  return rest;
}

Deno.test("the line about a stream has all known fields", async () => {
  await using upstream = startUpstream(() => {
    const answer = piecewise(STREAM);
    answer.headers.set("x-request-id", "upstream-1");
    return answer;
  });
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = hello("chat", { model: "renamed-a", stream: true });
  const response = await gateway.call(
    "/api/coding/paas/v4/chat/completions",
    ask("chat", body),
  );
  await response.text();
  const line = await gateway.lines.of(response);
  assert.ok(Number(line.first_byte_ms) > 0);
  assert.ok(Number(line.first_output_ms) > 0);
  assert.deepEqual(takeTimes(line), {
    level: "info",
    event: "request",
    request_id: response.headers.get("x-request-id"),
    token: "alice",
    method: "POST",
    route: "/api/coding/paas/v4/chat/completions",
    model: "renamed-a",
    upstream_model: "upstream-a",
    connection: "Family A",
    mode: "native",
    status: 200,
    bytes_in: body.length,
    bytes_out: STREAM.join("").length,
    usage: {
      input_tokens: 12,
      cached_input_tokens: 5,
      output_tokens: 34,
      reasoning_tokens: 6,
    },
    upstream_request_id: "upstream-1",
    upstream_status: 200,
    ended: "complete",
  });
});

Deno.test("the first output is the first text that a caller could show, not the first event", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const answer = openAnswer();
  upstream.play(() => answer.response);
  const response = await gateway.ask("chat");
  const [start = "", ...rest] = STREAM;
  const reader = response.body?.getReader();
  answer.write(start);
  await reader?.read();
  // The test measures this time.
  await new Promise((resolve) => setTimeout(resolve, 20));
  answer.write(rest.join(""));
  answer.close();
  while (!(await reader?.read())?.done) {
    // Reads to the end.
  }
  const line = await gateway.lines.of(response);
  const waited = Number(line.first_output_ms) - Number(line.first_byte_ms);
  assert.ok(waited >= 15, String(waited));
});

/**
 * A caller's action, and the fields of its line; `undefined` for a field that must be absent. The lines of the
 * gateway's own answers are in `request_line_test.ts`.
 */
const LINES: Readonly<
  Record<string, {
    readonly path: string;
    readonly init: RequestInit;
    readonly line: Readonly<Record<string, JsonValue | undefined>>;
  }>
> = {
  "a JSON answer": {
    path: PATHS.messages,
    init: ask("messages"),
    line: {
      token: "alice",
      route: "/v1/messages",
      model: "model-b",
      upstream_model: "model-b",
      connection: "Family B",
      mode: "native",
      status: 200,
      bytes_in: hello("messages").length,
      ended: "complete",
    },
  },
  "a translated answer": {
    path: PATHS.chat,
    init: ask("chat", hello("chat", { model: "model-b", seed: 1 })),
    line: {
      model: "model-b",
      connection: "Family B",
      mode: "translated",
      status: 200,
      dropped: ["seed"],
      ended: "complete",
    },
  },
  "a client that names its work": {
    path: PATHS.messages,
    init: ask("messages", hello("messages"), {
      "x-claude-code-session-id": `session-1${"x".repeat(200)}`,
      "x-claude-code-agent-id": "agent-1",
      "x-client-request-id": "request-1",
    }),
    line: {
      session: `session-1${"x".repeat(119)}`,
      agent: "agent-1",
      client_request_id: "request-1",
      ended: "complete",
    },
  },
  "a client that names its work and gets an error": {
    path: PATHS.chat,
    init: ask("chat", hello("chat", { model: "nobody's" }), {
      "session-id": "session-2",
    }),
    line: { session: "session-2", agent: undefined, status: 404 },
  },
  "a caller without a token, whose client's ids are not logged": {
    path: PATHS.chat,
    init: { method: "POST", headers: { "session-id": "session-3" } },
    line: { session: undefined, status: 401 },
  },
  "an unknown path": {
    path: "/v1/secret-looking/path?query=1",
    init: ask("chat"),
    line: {
      token: undefined,
      route: undefined,
      method: "POST",
      status: 404,
      bytes_in: 0,
      error: "not_found",
      ended: "error",
    },
  },
};

const MESSAGE = JSON.stringify({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "model-b",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 2 },
});

Deno.test("every request has exactly one line, with its route and its ending", async (t) => {
  await using upstream = startUpstream(() =>
    new Response(MESSAGE, { headers: JSON_HEADERS })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(
    t,
    Object.entries(LINES),
    async ([, { path, init, line: expected }]) => {
      const response = await gateway.call(path, init);
      await response.bytes();
      const line = takeTimes(await gateway.lines.of(response));
      const logged = Object.keys(expected).map((key) => [key, line[key]]);
      assert.deepEqual(Object.fromEntries(logged), expected);
    },
  );
  assert.equal(gateway.lines.requests.items.length, Object.keys(LINES).length);
  assert.ok(!gateway.lines.text().includes("secret-looking"));
});

Deno.test("probes have no lines", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const path of ["/livez", "/readyz", "/healthz"]) {
    const response = await gateway.call(path);
    await response.body?.cancel();
  }
  await gateway.call("/", { method: "HEAD" });
  const last = await gateway.call("/unknown");
  await last.body?.cancel();
  await gateway.lines.of(last);
  assert.equal(gateway.lines.requests.items.length, 1);
});
