import assert from "node:assert/strict";
import { isJsonObject } from "../../../../src/base/json.ts";
import { openAnswer, SSE_HEADERS } from "../../../support/wire/answers.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  type Act,
  good,
  streamOf,
} from "../../../support/upstream/bad_provider.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { settle } from "../../../support/settle.ts";
import { WIRES, WORDS } from "../../../support/wire/wire.ts";

for (const protocol of PROTOCOLS) {
  const way = { protocol, mode: "native" } as const;
  const { start, output, end } = WIRES[protocol];

  Deno.test(`a ${protocol} stream is not held back when no other candidate is left`, async () => {
    const { response, write, close } = openAnswer();
    const scene = await openScene([connectionTo("one", way)], {
      one: [() => response],
    });
    const answer = await scene.gateway.handler(
      scene.request(protocol, { stream: true }),
    );
    const reader = answer.body?.getReader();
    write(start);
    const first = await reader?.read();
    assert.equal(new TextDecoder().decode(first?.value), start);
    write(output + end);
    close();
    while (!(await reader?.read())?.done);
  });

  Deno.test(`a ${protocol} stream is held back until its first output while another candidate is left`, async () => {
    const { response, write, close } = openAnswer();
    const scene = await openScene([
      connectionTo("one", way),
      connectionTo("two", way),
    ], { one: [() => response], two: [good] });
    const answers: Response[] = [];
    scene.gateway.handler(scene.request(protocol, { stream: true }))
      .then((given) => answers.push(given));
    write(start);
    for (let turn = 0; turn < 10; turn++) await settle();
    assert.equal(answers.length, 0);
    write(output);
    for (let turn = 0; turn < 10; turn++) await settle();
    assert.equal(answers.length, 1);
    write(end);
    close();
    assert.equal(await answers[0]?.text(), start + output + end);
    assert.deepEqual(scene.providers.hosts(), ["one"]);
  });

  Deno.test(`a fallback's ${protocol} answer arrives byte for byte, and the header names the model`, async () => {
    const text = JSON.stringify(WIRES[protocol].answer, null, 1);
    const act: Act = () => new Response(text, { headers: JSON_TYPE });
    const scene = await openScene([
      connectionTo("one", way, {
        models: [{ id: "model-1", fallbacks: ["model-2"] }],
      }),
      connectionTo("two", way, { models: ["model-2"] }),
    ], { one: [() => new Response(null, { status: 401 })], two: [act] });
    const received = await scene.ask(protocol);
    assert.equal(received.text, text);
    assert.equal(received.headers.get("x-gateway-model"), "model-2");
    assert.equal(scene.providers.asked[1]?.model, "model-2");
  });
}

const JSON_TYPE = { "content-type": "application/json" };

Deno.test("a stream that lacks only [DONE] ends at once, with its usage", async (t) => {
  const unmarked = streamOf(
    ({ start, output, end }) => [
      start + output + end.replace("data: [DONE]\n\n", ""),
    ],
    "end",
  );
  const candidates = [
    ["chat", "native"],
    ["messages", "translated"],
    ["responses", "translated"],
  ] as const;
  for (const [protocol, mode] of candidates) {
    await t.step(`${protocol} ${mode}`, async () => {
      const way = { protocol, mode };
      const scene = await openScene([connectionTo("one", way)], {
        one: [unmarked],
      });
      const received = await scene.ask(protocol, { stream: true });
      assert.equal(received.status, 200);
      assert.ok(!received.broken);
      assert.ok(received.text.includes(WORDS));
      assert.equal(received.line.ended, "complete");
      const { usage } = received.line;
      assert.ok(isJsonObject(usage));
      assert.equal(usage.output_tokens, 2);
      assert.ok(received.atMs < 100, `took ${received.atMs} ms`);
      assert.deepEqual(scene.providers.hosts(), ["one"]);
    });
  }
});

/** The number of output bytes that a slow stream sends one by one. */
const SINGLE_BYTES = 40;

/** Returns an act that streams slowly: it waits before each chunk, and many chunks have one byte. */
function trickle(wait: () => Promise<void>): Act {
  return ({ wire }) => {
    const encoder = new TextEncoder();
    const output = encoder.encode(wire.output);
    const pieces = [
      encoder.encode(wire.start),
      ...Array.from(
        output.subarray(0, SINGLE_BYTES),
        (byte) => Uint8Array.of(byte),
      ),
      output.subarray(SINGLE_BYTES),
      encoder.encode(wire.end),
    ];
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await wait();
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: SSE_HEADERS });
  };
}

Deno.test("a stream that sends a byte a second arrives whole, natively and translated", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const mode of ["native", "translated"] as const) {
      await t.step(`${protocol} ${mode}`, async () => {
        const way = { protocol, mode };
        const connection = connectionTo("one", way, {
          timeouts: { idle: 10_000 },
        });
        const second = () =>
          new Promise<void>((go) => void scene.timers.schedule(1000, go));
        const scene = await openScene([connection], { one: [trickle(second)] });
        const received = await scene.ask(protocol, { stream: true });
        assert.equal(received.status, 200);
        assert.ok(!received.broken);
        assert.ok(received.text.includes(WORDS));
        assert.equal(received.line.ended, "complete");
        // The provider has not sent the line break after its last event yet.
        scene.timers.advance(1000);
        assert.equal(scene.timers.running, 0);
      });
    }
  }
});
