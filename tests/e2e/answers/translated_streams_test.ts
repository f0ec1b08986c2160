import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  noAnswer,
  openAnswer,
  SSE_HEADERS,
} from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  PAIRS,
  pairsFile,
  sampleAnswer,
  streamFrames,
} from "../../support/dialects/pairs.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/** The end of an incomplete stream in each protocol (docs/design.md#streams). */
const BROKEN: Readonly<Record<Protocol, RegExp>> = {
  chat: /\n\nevent: error\ndata: \{"error":\{[^\n]*\}\}\n\n$/,
  messages: /\n\nevent: error\ndata: \{"type":"error",[^\n]*\}\n\n$/,
  responses: /\n\nevent: response\.failed\ndata: \{[^\n]*\}\n\n$/,
};

/** The end mark, which only a complete stream may have. */
const WHOLE: Readonly<Record<Protocol, RegExp>> = {
  chat: /\[DONE\]|"finish_reason":"/,
  messages: /message_stop|"stop_reason":"/,
  responses: /response\.(completed|incomplete)/,
};

/** The marks of an upstream's own error in its stream. */
const ERROR_FRAMES: Readonly<Record<Protocol, string>> = {
  chat: 'data: {"error":{"message":"It melted","code":"server_error"}}\n\n',
  messages:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"It melted"}}\n\n',
  responses:
    'event: response.failed\ndata: {"type":"response.failed","sequence_number":90,"response":{"id":"r","status":"failed","error":{"code":"server_error","message":"It melted"}}}\n\n',
};

/** Returns the beginning of a stream, up to its first text. */
function beginning(protocol: Protocol): string {
  const frames = streamFrames(protocol, sampleAnswer("one text"));
  const at = frames.findIndex((frame) => /Hello/.test(frame));
  assert.ok(at >= 0);
  return frames.slice(0, at + 1).join("");
}

/** Faults of the upstream's stream after its first text. */
const BREAKS = {
  "is cut": (open: Open) => open.cut(),
  "ends before its end": (open: Open) => open.close(),
  "holds an event that is no JSON": (open: Open) => {
    open.write("data: {oh\n\n");
  },
  "reports an error": (open: Open, to: Protocol) => {
    open.write(ERROR_FRAMES[to]);
  },
} as const;

type Open = ReturnType<typeof openAnswer>;

for (const { from, to, model } of PAIRS) {
  const body = hello(from, { model, stream: true });

  Deno.test(`a ${from} stream of a ${to} upstream that breaks off ends in the protocol's error and never looks complete`, async (t) => {
    await using upstream = startUpstream();
    await steps(t, Object.entries(BREAKS), async ([what, happen]) => {
      // Each has a new gateway, because a failed connection cools down.
      await using gateway = await startGateway(pairsFile(upstream.url));
      const open = openAnswer();
      upstream.play(() => open.response);
      open.write(beginning(to));
      const response = await gateway.ask(from, body);
      assert.equal(response.status, 200);
      happen(open, to);
      const text = await within(response.text(), "the end of the stream");
      assert.match(text, /Hello, wörld 👋/);
      assert.match(text, BROKEN[from]);
      assert.doesNotMatch(text, WHOLE[from]);
      if (what === "reports an error") assert.match(text, /It melted/);
      const line = await gateway.lines.of(response);
      assert.equal(line.ended, "upstream_broken");
    });
  });

  Deno.test(`a ${from} stream of a ${to} upstream that falls silent gets keep-alives, and ends at the deadline`, async () => {
    await using upstream = startUpstream();
    const timers = createFakeTimers();
    await using gateway = await startGateway(
      pairsFile(upstream.url, { timeouts: { idle: 60_000 } }),
      { timers },
    );
    const open = openAnswer();
    upstream.play(() => open.response);
    open.write(beginning(to));
    const response = await gateway.ask(from, body);
    const reader = response.body?.pipeThrough(new TextDecoderStream())
      .getReader();
    assert.ok(reader !== undefined);
    let text = "";
    const readUntil = async (isEnough: () => boolean) => {
      while (!isEnough()) {
        const { done, value } = await within(
          reader.read(),
          "more of the stream",
        );
        if (done) return;
        text += value;
      }
    };
    await readUntil(() => text.includes("Hello"));
    const alive = () => text.match(KEEP_ALIVES[from])?.length ?? 0;
    for (const count of [1, 2, 3]) {
      timers.advance(15_000);
      await readUntil(() => alive() === count);
      assert.equal(alive(), count);
    }
    timers.advance(15_000);
    await readUntil(() => false);
    assert.match(text, BROKEN[from]);
    assert.doesNotMatch(text, WHOLE[from]);
    assert.equal((await gateway.lines.of(response)).ended, "upstream_broken");
    await within(open.cancelled, "the upstream to be given up");
  });

  Deno.test(`a ${from} caller gets keep-alives from a ${to} upstream that is silent from its start`, async () => {
    await using upstream = startUpstream();
    const timers = createFakeTimers();
    await using gateway = await startGateway(pairsFile(upstream.url), {
      timers,
    });
    const open = openAnswer();
    upstream.play(() => open.response);
    open.write(streamFrames(to, sampleAnswer("one text"))[0] ?? "");
    const call = gateway.ask(from, body);
    await upstream.requests.next();
    let response: Response | undefined;
    call.then((came) => {
      response = came;
    });
    await until(() => {
      timers.advance(1_000);
      return response !== undefined;
    }, "the answer's headers");
    assert.ok(timers.elapsedMs() >= 15_000);
    assert.equal(response?.status, 200);
    await response.body?.cancel();
    await within(open.cancelled, "the upstream to be given up");
  });

  Deno.test(`a ${from} caller that disconnects ends the request to a ${to} upstream`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(pairsFile(upstream.url));
    await t.step("before the answer begins", async () => {
      upstream.play(noAnswer);
      const leave = new AbortController();
      const call = gateway.call(PATHS[from], {
        ...ask(from, body),
        signal: leave.signal,
      });
      const { signal } = await upstream.requests.next();
      leave.abort();
      await assert.rejects(call);
      await until(() => signal.aborted, "the upstream's request to be aborted");
    });
    await t.step("in the middle of a stream", async () => {
      const open = openAnswer();
      upstream.play(() => open.response);
      open.write(beginning(to));
      const response = await gateway.ask(from, body);
      await response.body?.cancel();
      await within(open.cancelled, "the upstream's stream to be cancelled");
      assert.equal((await gateway.lines.of(response)).ended, "client_abort");
    });
  });

  Deno.test(`an upstream's stream that fails before its first output is an HTTP error to a ${from} caller of a ${to} upstream`, async (t) => {
    await using upstream = startUpstream();
    const first = streamFrames(to, sampleAnswer("one text"))[0] ?? "";
    for (const start of ["", first]) {
      const what = start === "" ? "at once" : "after its start";
      for (const stream of [true, false]) {
        await t.step(`${what}, ${stream ? "streamed" : "folded"}`, async () => {
          await using gateway = await startGateway(pairsFile(upstream.url), {
            timers: hurriedTimers,
          });
          const text = start + ERROR_FRAMES[to];
          upstream.play(() => new Response(text, { headers: SSE_HEADERS }));
          const asked = hello(from, { model, stream });
          const response = await gateway.ask(from, asked);
          const error = await readError(response, from);
          assert.ok(error.status >= 500, String(error.status));
          assert.match(error.message, /It melted/);
          assert.equal((await gateway.lines.of(response)).ended, "error");
        });
      }
    }
  });

  Deno.test(`errors of a ${to} upstream reach a ${from} caller with status, message and retry-after, in the caller's shape`, async (t) => {
    await using upstream = startUpstream();
    for (const status of [400, 404, 413, 422, 429, 500, 503]) {
      for (const stream of [true, false]) {
        await t.step(
          `${status}, ${stream ? "streamed" : "whole"}`,
          async () => {
            await using gateway = await startGateway(pairsFile(upstream.url), {
              timers: hurriedTimers,
            });
            upstream.play(() =>
              Response.json(errorBody(to, status), {
                status,
                headers: { "retry-after": "7" },
              })
            );
            const asked = hello(from, { model, stream });
            const response = await gateway.ask(from, asked);
            const error = await readError(response, from);
            assert.equal(error.status, status);
            assert.match(error.message, /Words of the provider/);
            assert.equal(error.headers.get("retry-after"), "7");
          },
        );
      }
    }
    for (const status of [401, 403]) {
      await t.step(
        `${status} concerns the gateway's key, and is 502`,
        async () => {
          await using gateway = await startGateway(pairsFile(upstream.url), {
            timers: hurriedTimers,
          });
          upstream.play(() => Response.json(errorBody(to, status), { status }));
          const response = await gateway.ask(from, body);
          const error = await readError(response, from);
          assert.equal(error.status, 502);
          assert.doesNotMatch(error.message, /Words of the provider/);
          assert.equal(
            (await gateway.lines.of(response)).error,
            "upstream_authentication",
          );
        },
      );
    }
    await t.step("an answer that is not JSON", async () => {
      for (
        const [status, text] of [[200, "<html>"], [502, "<html>"]] as const
      ) {
        await using gateway = await startGateway(pairsFile(upstream.url), {
          timers: hurriedTimers,
        });
        upstream.play(() => new Response(text, { status }));
        const asked = hello(from, { model });
        const response = await gateway.ask(from, asked);
        assert.equal((await readError(response, from)).status, 502);
      }
    });
  });
}

const KEEP_ALIVES: Readonly<Record<Protocol, RegExp>> = {
  chat: /^:.*\n\n/gm,
  messages: /^event: ping\n/gm,
  responses: /^event: keepalive\n/gm,
};

/** Returns an error as each protocol's providers write it. */
function errorBody(protocol: Protocol, status: number): JsonObject {
  const message = `Words of the provider about ${status}`;
  return protocol === "messages"
    ? { type: "error", error: { type: "some_error", message } }
    : { error: { message, type: "some_error", param: null, code: null } };
}
