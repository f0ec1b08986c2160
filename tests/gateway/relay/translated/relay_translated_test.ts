import { toResponse } from "../../../../src/gateway/http/gateway.ts";
import { CallerLeft } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import {
  MAIN_OPERATIONS,
  type Protocol,
} from "../../../../src/base/protocol.ts";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import type { Tool } from "../../../../src/codecs/canonical/tools/tool.ts";
import { openTranslatedAttempt } from "../../../support/gateway/translated_attempt.ts";
import { openTestAttempt } from "../../../support/gateway/attempt.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { joinBytes } from "../../../../src/base/streams/bytes.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { settle } from "../../../support/settle.ts";
import { turnsDuring } from "../../../support/turns_during.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";

/** Opens an attempt for a Chat caller who requests JSON, at a Messages upstream that only streams. */
async function begin(
  { stream = false, from = "chat", tools = [] }: {
    readonly stream?: boolean;
    readonly from?: Protocol;
    readonly tools?: readonly Tool[];
  } = {},
) {
  const opened = await openTestAttempt({
    operation: MAIN_OPERATIONS[from],
    idleMs: 100,
  });
  const timers = createFakeTimers();
  const translated = openTranslatedAttempt(opened, {
    to: "messages",
    deadlines: createDeadlines(timers),
  });
  const translate = async (answer: Response) =>
    toResponse(
      await translated.answer(answer, {
        stream: true,
        request: requestOf({ stream, tools }),
        aliases: new Map(),
        cuts: [],
        isTagged: false,
        estimatedInputTokens: 1,
        dropped: new Set(["seed", "a,b", "é".repeat(100)]),
        lessons: [],
        reasoning: [],
      }),
    );
  return { ...opened, timers, translate };
}

const EVENTS = { "content-type": "text/event-stream" };

const START = sseBytes(
  { type: "message_start", message: { id: "m", model: "x", usage: {} } },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  },
);

function delta(text: string): Uint8Array<ArrayBuffer> {
  return sseBytes({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  });
}

const STOP = sseBytes(
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  { type: "message_stop" },
);

/** Returns a stream of these chunks that ends, breaks off or waits until its exchange is aborted. */
function answerOf(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  end: "close" | "break" | AbortSignal,
): Response {
  const rest = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      if (end === "close") return controller.close();
      if (end === "break") return controller.error(new Error("reset by peer"));
      end.addEventListener("abort", () => controller.error(end.reason));
    },
  });
  return new Response(body, { headers: EVENTS });
}

Deno.test("a translated attempt replaces characters of dropped fields that a header must not contain", async () => {
  const { translate } = await begin();
  const { headers } = await translate(answerOf([START, STOP], "close"));
  assert.equal(headers.get("x-gateway-dropped"), `seed,a?b,${"?".repeat(100)}`);
});

Deno.test("a translated attempt throws when the stream for a JSON answer is incomplete", async () => {
  const parts = [START, delta("Hi")];
  for (const end of ["close", "break"] as const) {
    const { attempt, translate, ended, timers } = await begin();
    await assert.rejects(translate(answerOf(parts, end)));
    assert.equal(ended(), undefined);
    assert.equal(attempt.controller.signal.aborted, true);
    assert.equal(timers.running, 0);
  }
});

Deno.test("a translated attempt throws when the stream for a JSON answer is silent for too long", async () => {
  const { attempt, translate, timers } = await begin();
  const answer = answerOf([START], attempt.controller.signal);
  const translating = translate(answer);
  await settle();
  timers.advance(100);
  await assert.rejects(translating, (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, "upstream_timeout");
    return true;
  });
});

Deno.test("a translated attempt throws the reason when the stream for a JSON answer is aborted", async () => {
  const { attempt, translate } = await begin();
  const answer = answerOf([START], attempt.controller.signal);
  const translating = translate(answer);
  await settle();
  attempt.controller.abort(new CallerLeft());
  await assert.rejects(translating, CallerLeft);
});

Deno.test("a translated attempt throws the gateway's reason when a stream is aborted before its output", async () => {
  const { attempt, translate } = await begin({ stream: true });
  const translating = translate(answerOf([START], attempt.controller.signal));
  await settle();
  const reason = new GatewayError("overloaded", "m", { code: "stopping" });
  attempt.controller.abort(reason);
  await assert.rejects(translating, (thrown) => thrown === reason);
});

for (
  const [protocol, expected] of [
    [
      "chat",
      { type: "authentication_error", code: "token_removed" },
    ],
    [
      "messages",
      {
        type: "authentication_error",
        details: { error_code: "token_removed" },
      },
    ],
    ["responses", { code: "token_removed" }],
  ] as const
) {
  Deno.test(`a removed token ends a translated ${protocol} stream with its own authentication error`, async () => {
    const { attempt, translate } = await begin({
      stream: true,
      from: protocol,
    });
    const answer = await translate(
      answerOf([START, delta("Hi")], attempt.controller.signal),
    );
    const reason = new GatewayError("unauthenticated", "The token is gone.", {
      code: "token_removed",
    });
    attempt.controller.abort(reason);
    const events = (await answer.text()).split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice(6)));
    const last = events.at(-1);
    const { message, ...error } = last.error ?? last.response.error;
    assert.equal(message, "The token is gone.");
    assert.deepEqual({ ...error, param: undefined }, {
      ...expected,
      param: undefined,
    });
  });
}

Deno.test("a translated attempt throws a failure before the first output, however long the first events are", async () => {
  const tool = {
    kind: "function",
    name: "long",
    description: "x".repeat(512 * 1024),
    parameters: {},
  } as const;
  const { translate } = await begin({
    stream: true,
    from: "responses",
    tools: [tool],
  });
  const failure = sseBytes({
    type: "error",
    error: { type: "overloaded_error", message: "Overloaded" },
  });
  await assert.rejects(
    translate(answerOf([START, failure], "close")),
    UpstreamFailure,
  );
});

Deno.test("a translated attempt rejects an endless stream for a JSON answer", async () => {
  const { attempt, translate } = await begin();
  const part = delta("x".repeat(1024 * 1024));
  let given = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(given === 0 ? START : part);
      given += part.length;
    },
  });
  await assert.rejects(
    translate(new Response(body, { headers: EVENTS })),
    (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, "upstream_oversized");
      assert.match(error.message, /it is too long/);
      return true;
    },
  );
  assert.ok(given < 80 * 1024 * 1024);
  assert.equal(attempt.controller.signal.aborted, true);
});

Deno.test("a translated attempt rejects 16 MiB without output in a stream for a JSON answer", async () => {
  const { attempt, translate } = await begin();
  const piece = new TextEncoder().encode(": ping\n\n".repeat(128 * 1024));
  let given = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(given === 0 ? START : piece.slice());
      given += piece.length;
    },
  });
  await assert.rejects(
    translate(new Response(body, { headers: EVENTS })),
    (error) => {
      assert.ok(error instanceof UpstreamFailure);
      assert.equal(error.failure.kind, "broken");
      assert.match(error.failure.message, /sent 16 MiB without any output/);
      return true;
    },
  );
  assert.ok(given < 40 * 1024 * 1024);
  assert.equal(attempt.controller.signal.aborted, true);
});

Deno.test("a translated attempt lets other work run while it reads events that are labelled as JSON", async (t) => {
  const events = joinBytes([
    START,
    ...Array<Uint8Array>(10_000).fill(delta("x")),
    STOP,
  ]);
  for (const stream of [false, true]) {
    await t.step(stream ? "for a stream" : "for an object", async () => {
      const { translate } = await begin({ stream });
      const answer = new Response(events.slice(), {
        headers: { "content-type": "application/json" },
      });
      const turns = await turnsDuring(
        translate(answer).then((given) => given.text()),
      );
      assert.ok(turns > events.length / (32 * 1024), `${turns} turns`);
    });
  }
});

Deno.test("a translated attempt rejects 16 MiB without output in events that are labelled as JSON", async () => {
  const { translate } = await begin();
  const body = joinBytes([
    START,
    new TextEncoder().encode(": ping\n\n".repeat(17 * 128 * 1024)),
  ]);
  await assert.rejects(
    translate(
      new Response(body, { headers: { "content-type": "application/json" } }),
    ),
    (error) => {
      assert.ok(error instanceof UpstreamFailure);
      assert.match(error.failure.message, /sent 16 MiB without any output/);
      return true;
    },
  );
});
