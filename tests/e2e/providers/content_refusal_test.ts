import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { credentials, hello, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  CONTENT_REFUSALS,
  GATEWAY_REFUSALS,
  MODERATED,
  type Refusal,
  UNEXPLAINED_REFUSALS,
} from "../../support/dialects/refusals.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  answerWell,
  type CallerName,
  sharedFile,
  tokenOf,
  type Way,
} from "../../support/gateway/shared_gateway.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import {
  listenToEnd,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";

const WAYS: readonly Way[] = PROTOCOLS.flatMap((protocol) => [
  { protocol, mode: "native" },
  { protocol, mode: "translated" },
]);

function bytesOf({ body }: Refusal): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function refuse(refusal: Refusal): Response {
  return new Response(bytesOf(refusal), {
    status: refusal.status,
    headers: {
      "content-type": typeof refusal.body === "string"
        ? "text/html"
        : "application/json; charset=utf-8",
      "x-provider": "refused",
    },
  });
}

/** Opens a gateway with two upstreams, the first of which refuses flagged prompts. */
async function open(way: Way, refusal: Refusal) {
  const first = startUpstream((seen) =>
    seen.text().includes("flagged words") ? refuse(refusal) : answerWell(seen)
  );
  const second = startUpstream(answerWell);
  const gateway = await startGateway(
    sharedFile(way, { first: first.url, second: second.url }),
  );
  return {
    gateway,
    first,
    second,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

function say(
  gateway: RunningGateway,
  { protocol }: Way,
  { words, caller = "alice", fields = {} }: {
    readonly words: string;
    readonly fields?: JsonObject;
    readonly caller?: CallerName;
  },
): Promise<Response> {
  const said = protocol === "responses"
    ? { input: words }
    : { messages: [{ role: "user", content: words }] };
  const body = hello(protocol, { model: "model-1", ...said, ...fields });
  const headers = credentials(protocol, tokenOf(caller));
  return gateway.ask(protocol, body, headers);
}

/** Checks the responses and log lines of a content refusal. */
async function checkTold(
  gateway: RunningGateway,
  way: Way,
  refusal: Refusal,
): Promise<void> {
  const response = await say(gateway, way, { words: "flagged words" });
  assert.equal(response.status, refusal.status);
  const text = await response.text();
  if (way.mode === "native") {
    assert.equal(text, bytesOf(refusal));
    assert.equal(response.headers.get("x-provider"), "refused");
  } else {
    const { type, error } = JSON.parse(text);
    assert.equal(type, way.protocol === "messages" ? "error" : undefined);
    assert.equal(error.type, "invalid_request_error");
    assert.ok(error.message.length > 0);
    assert.doesNotMatch(text, /credential/);
  }
  // SDKs retry every status from 500 on, and Claude Code every 403, unless a header forbids it.
  const isFinal = response.headers.get("x-should-retry") === "false";
  assert.equal(isFinal, refusal.status >= 500 || refusal.status === 403);
  const line = await gateway.lines.of(response);
  assert.equal(line.attempts, undefined, "more than one attempt");
  assert.equal(line.connection, "first");
}

Deno.test("each of three flagged prompts gets one error, and none causes a cool-down", async (t) => {
  for (const way of WAYS) {
    await t.step(`${way.protocol} ${way.mode}`, async () => {
      await using scene = await open(way, MODERATED);
      const { gateway, first, second } = scene;
      for (let count = 0; count < 3; count++) {
        await checkTold(gateway, way, MODERATED);
      }
      assert.equal(first.requests.items.length, 3);
      for (const caller of ["alice", "bob"] as const) {
        const response = await say(gateway, way, { words: "Hello", caller });
        assert.equal(response.status, 200, await response.text());
        const { connection } = await gateway.lines.of(response);
        assert.equal(connection, "first");
      }
      assert.equal(second.requests.items.length, 0);
      assert.deepEqual(gateway.lines.others.items, []);
    });
  }
});

Deno.test("every provider's refusal of content reaches its caller, once", async (t) => {
  for (const refusal of CONTENT_REFUSALS) {
    await t.step(refusal.name, async () => {
      for (const way of WAYS) {
        await using scene = await open(way, refusal);
        await checkTold(scene.gateway, way, refusal);
        assert.equal(scene.first.requests.items.length, 1);
        assert.equal(scene.second.requests.items.length, 0);
      }
    });
  }
});

Deno.test("a refusal that is not about the content is tried on another connection, and its text is hidden", async (t) => {
  for (const refusal of [...GATEWAY_REFUSALS, ...UNEXPLAINED_REFUSALS]) {
    await t.step(refusal.name, async () => {
      for (const way of WAYS) {
        await using scene = await open(way, refusal);
        const { gateway } = scene;
        const served = await say(gateway, way, { words: "flagged words" });
        assert.equal(served.status, 200, await served.text());
        assert.equal((await gateway.lines.of(served)).connection, "second");
      }
    });
  }
});

Deno.test("a refusal that is not about the content is 502 if there is no other connection", async (t) => {
  for (const refusal of [...GATEWAY_REFUSALS, ...UNEXPLAINED_REFUSALS]) {
    await t.step(refusal.name, async () => {
      for (const way of WAYS) {
        await using upstream = startUpstream(() => refuse(refusal));
        const url = upstream.url;
        await using gateway = await startGateway(
          sharedFile(way, { first: url }),
        );
        const response = await say(gateway, way, { words: "flagged words" });
        assert.equal(response.status, 502);
        const text = await response.text();
        const isExplained = GATEWAY_REFUSALS.includes(refusal);
        assert.equal(/credential/.test(text), isExplained, text);
        const { error } = JSON.parse(text);
        assert.ok(!bytesOf(refusal).includes(error.message));
        assert.equal(response.headers.get("x-provider"), null);
        const line = await gateway.lines.of(response);
        assert.equal(line.error, "upstream_authentication");
        assert.equal(line.upstream_status, refusal.status);
      }
    });
  }
});

/** The event of each protocol's stream for refused content. */
const REFUSING_EVENTS: Readonly<Record<Protocol, JsonObject>> = {
  chat: { error: { code: "content_filter", message: "Filtered" } },
  messages: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "Output blocked by content filtering policy",
    },
  },
  responses: {
    type: "response.failed",
    sequence_number: 9,
    response: {
      id: "resp-1",
      object: "response",
      status: "failed",
      output: [],
      error: { code: "cyber_policy", message: "Flagged" },
    },
  },
};

/** Returns a stream that is refused before or after its first output. */
function refuseStream(path: string, { hasOutput }: {
  readonly hasOutput: boolean;
}): Response {
  const protocol = protocolOfPath(path);
  const { start, output } = WIRES[protocol];
  const event = REFUSING_EVENTS[protocol];
  const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
  const text = start + (hasOutput ? output : "") +
    `${name}data: ${JSON.stringify(event)}\n\n`;
  return new Response(text, {
    headers: { "content-type": "text/event-stream" },
  });
}

Deno.test("streams whose content is rejected are not tried elsewhere and cause no cool-down", async (t) => {
  for (const way of WAYS) {
    for (const hasOutput of [false, true]) {
      for (const isAlone of [false, true]) {
        const name = `${way.protocol} ${way.mode}, ${
          hasOutput ? "after" : "before"
        } output, with ${isAlone ? "no " : ""}other connection`;
        await t.step(name, async () => {
          await using first = startUpstream((seen) =>
            seen.text().includes("flagged words")
              ? refuseStream(seen.path, { hasOutput })
              : answerWell(seen)
          );
          await using second = startUpstream(answerWell);
          const others = isAlone ? {} : { second: second.url };
          await using gateway = await startGateway(
            sharedFile(way, { first: first.url, ...others }),
          );
          for (let count = 0; count < 4; count++) {
            const response = await say(gateway, way, {
              words: "flagged words",
              fields: { stream: true },
            });
            assert.match(await response.text(), /Filtered|blocked|Flagged/);
          }
          const served = await say(gateway, way, { words: "Hello" });
          assert.equal(served.status, 200, await served.text());
          assert.equal((await gateway.lines.of(served)).connection, "first");
          assert.equal(first.requests.items.length, 5);
          assert.deepEqual(gateway.lines.others.items, []);
        });
      }
    }
  }
});

/** Starts a gateway with a stopped clock: a cool-down never ends. */
const startFrozen = (file: Readonly<Record<string, unknown>>) =>
  startGateway(file, { clock: createFakeClock(NOW_MS) });

let asked = 0;

/** Sends a request in a new conversation, checks that it succeeds, and returns its connection. */
async function servedBy(
  gateway: RunningGateway,
  protocol: Protocol,
  { caller, model = "model-1", words = "Hello" }: {
    readonly caller: CallerName;
    readonly model?: string;
    readonly words?: string;
  },
): Promise<unknown> {
  const content = `${words} ${++asked}`;
  const said = protocol === "responses"
    ? { input: content }
    : { messages: [{ role: "user", content }] };
  const response = await gateway.ask(
    protocol,
    hello(protocol, { model, ...said }),
    credentials(protocol, tokenOf(caller)),
  );
  assert.equal(response.status, 200, await response.text());
  const { connection, attempts } = await gateway.lines.of(response);
  return attempts === undefined ? connection : "both";
}

Deno.test("a connection that breaks off during one token's requests cools down only for that token", async () => {
  await using bad = startRawUpstream(async (connection) => {
    const bytes = new Uint8Array(16 * 1024);
    await connection.read(bytes);
    if (new TextDecoder().decode(bytes).includes("poison")) return;
    await listenToEnd(connection);
  });
  await using healthy = startUpstream(answerWell);
  const urls = { bad: bad.url, healthy: healthy.url };
  await using gateway = await startFrozen({
    ...sharedFile({ protocol: "chat", mode: "native" }, urls),
    timeouts: { first_byte: 200 },
  });
  const asks = (caller: CallerName, words: string) =>
    servedBy(gateway, "chat", { caller, words });
  for (let count = 0; count < 3; count++) {
    assert.equal(await asks("alice", "poison"), "both");
  }
  assert.equal(await asks("alice", "Hello"), "healthy");
  assert.equal(await asks("bob", "Hello"), "both");
});
