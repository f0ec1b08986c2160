import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { Protocol } from "../../../src/base/protocol.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import type { Act } from "../../support/upstream/bad_provider.ts";
import {
  connectionTo,
  type Mode,
  openScene,
  type Scene,
} from "../../support/gateway/failover_scene.ts";
import { settle } from "../../support/settle.ts";
import { steps } from "../../support/steps.ts";

const MODES: readonly Mode[] = ["native", "translated"];

/** The provider's idle timeout, and the time between two of its chunks, in milliseconds. */
const IDLE_MS = 1000;
const DRIP_MS = 300;

/** The number of chunks. In total they take many times the deadline. */
const DRIPS = 20;

/** A slow answer. */
interface Drip {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The chunk that is sent every {@linkcode DRIP_MS}. */
  readonly drop: Uint8Array | (() => Uint8Array);
  /** The rest after the chunks; absent when the provider then stays silent. */
  readonly rest?: Uint8Array | (() => Uint8Array);
}

/** A slow answer and its caller's protocol. Time passes until the answer is complete. */
interface Dripping {
  readonly act: Act;
  run(scene: Scene): Promise<void>;
}

function dripping({ status = 200, headers = {}, drop, rest }: Drip): Dripping {
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  return {
    act({ signal }) {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          body = controller;
          signal.addEventListener("abort", () => {
            body = undefined;
            controller.error(signal.reason);
          });
        },
      });
      return new Response(stream, { status, headers });
    },
    async run({ timers }) {
      for (let count = 0; count < 5; count++) await settle();
      for (let count = 0; count < DRIPS; count++) {
        timers.advance(DRIP_MS);
        body?.enqueue(typeof drop === "function" ? drop() : drop);
        await settle();
      }
      if (rest === undefined) return;
      body?.enqueue(typeof rest === "function" ? rest() : rest);
      body?.close();
    },
  };
}

async function askDripping(
  drip: Drip,
  { protocol, mode, stream = false, spares = 0 }: {
    readonly protocol: Protocol;
    readonly mode: Mode;
    readonly stream?: boolean;
    /** The number of other connections. With one, the gateway holds the beginning back. */
    readonly spares?: number;
  },
) {
  const { act, run } = dripping(drip);
  const connections = ["one", "two"].slice(0, 1 + spares).map((name) =>
    connectionTo(name, { protocol, mode }, { timeouts: { idle: IDLE_MS } })
  );
  const scene = await openScene(connections, { one: [act], two: [act] });
  const asking = scene.gateway.handler(scene.request(protocol, { stream }))
    .then(async (response) => ({
      status: response.status,
      text: await response.text(),
    }));
  asking.catch(() => {
    // The test waits for it after the answer.
  });
  await run(scene);
  const received = await scene.pass(asking);
  return { ...received, asked: scene.providers.asked.length };
}

const encoder = new TextEncoder();
const SPACE = encoder.encode(" ");

/**
 * Returns an answer in the upstream's protocol: Messages and Responses are translated to Chat
 * Completions, Chat Completions to Messages.
 */
function wireAnswer(protocol: Protocol, mode: Mode): unknown {
  const spoken = mode === "native"
    ? protocol
    : protocol === "chat"
    ? "messages"
    : "chat";
  return ANSWERS[spoken];
}

const ANSWERS = {
  chat: {
    id: "c",
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Hello" },
      finish_reason: "stop",
    }],
  },
  messages: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  responses: {
    id: "r",
    object: "response",
    status: "completed",
    model: "m",
    output: [],
  },
};

Deno.test("white space every 300 ms prevents the idle timeout of a second", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const mode of MODES) {
      const text = JSON.stringify(wireAnswer(protocol, mode));
      const whole = encoder.encode(text);
      const length = String(DRIPS + whole.length);
      const cases = {
        "an answer of unknown length": JSON_HEADERS,
        "an answer with a length": {
          ...JSON_HEADERS,
          "content-length": length,
        },
      };
      for (const [name, headers] of Object.entries(cases)) {
        for (const spares of [0, 1]) {
          await t.step(`${protocol} ${mode}: ${name}, ${spares}`, async () => {
            const received = await askDripping(
              { headers, drop: SPACE, rest: whole },
              { protocol, mode, spares },
            );
            assert.equal(received.status, 200);
            assert.match(received.text, /^\s*\{.*\}$/);
            assert.equal(received.asked, 1);
          });
        }
      }
    }
  }
});

Deno.test("comments and unfinished lines of a stream prevent the idle timeout", async (t) => {
  const drops = { "comments": ": working\n\n", "part of a line": ":" };
  for (const [name, drop] of Object.entries(drops)) {
    for (const spares of [0, 1]) {
      await t.step(`${name}, ${spares}`, async () => {
        const received = await askDripping({
          headers: SSE_HEADERS,
          drop: encoder.encode(drop),
          rest: encoder.encode(
            '\n\ndata: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
          ),
        }, { protocol: "chat", mode: "native", stream: true, spares });
        assert.equal(received.status, 200);
        assert.match(received.text, /"content":"a"/);
        assert.equal(received.asked, 1);
      });
    }
  }
});

Deno.test("compressed bytes without output yet prevent the idle timeout", async (t) => {
  const whole = new Uint8Array(gzipSync(JSON.stringify(ANSWERS.chat)));
  for (const protocol of ["chat", "messages"] as const) {
    const mode = protocol === "chat" ? "native" : "translated";
    for (const spares of [0, 1]) {
      await t.step(`${mode}, ${spares}`, async () => {
        let given = 0;
        const received = await askDripping({
          headers: { ...JSON_HEADERS, "content-encoding": "gzip" },
          drop: () => whole.slice(given, ++given),
          rest: () => whole.slice(given),
        }, { protocol, mode, spares });
        assert.equal(received.status, 200);
        assert.match(received.text, /Hello/);
      });
    }
  }
});

Deno.test("an answer that falls silent is given up, even if it sent bytes for a long time", async (t) => {
  for (const mode of MODES) {
    for (const spares of [0, 1]) {
      await t.step(`${mode}, ${spares}`, async () => {
        const received = await askDripping({
          headers: { ...JSON_HEADERS, "content-length": "1000" },
          drop: SPACE,
        }, { protocol: "chat", mode, spares });
        assert.equal(received.status, 504);
        assert.equal(received.asked, 1 + spares);
      });
    }
  }
});

Deno.test("the body of an error may arrive slowly", async (t) => {
  const text = '{"error":{"message":"No such thing","type":"invalid_request"}}';
  await steps(t, MODES, async (mode) => {
    const received = await askDripping({
      status: 400,
      headers: JSON_HEADERS,
      drop: SPACE,
      rest: encoder.encode(text),
    }, { protocol: "chat", mode });
    assert.equal(received.status, 400);
    assert.match(received.text, /No such thing/);
  });
});
