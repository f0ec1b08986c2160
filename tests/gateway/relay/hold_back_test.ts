import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { holdBack } from "../../../src/gateway/relay/answer_body.ts";
import { createBeginningJudge } from "../../../src/gateway/relay/native/beginning.ts";
import {
  createLookAhead,
  type LookAhead,
} from "../../../src/base/streams/byte_reader.ts";
import { WatchedReader } from "../../../src/base/streams/watched_reader.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import { settle } from "../../support/settle.ts";
import { WIRES } from "../../support/wire/wire.ts";

type Beginning = ReturnType<ReturnType<typeof createBeginningJudge>["end"]>;

interface Scene {
  readonly timers: FakeTimers;
  readonly source: ReadableStreamDefaultController<Uint8Array>;
  readonly ahead: LookAhead;
  readonly held: Promise<Beginning | undefined>;
  /** Returns the result so far; "open" while there is none. */
  found(): Promise<Beginning | undefined | "open">;
}

function begin(
  protocol: Protocol,
  { idleMs = 0, outputMs }: {
    readonly idleMs?: number;
    readonly outputMs?: number;
  } = {},
): Scene {
  const timers = createFakeTimers();
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (source = controller),
  });
  assert.ok(source);
  const deadlines = createDeadlines(timers);
  const { signal } = new AbortController();
  const watched = { deadlines, idleMs, signal };
  const ahead = createLookAhead(new WatchedReader(body.getReader(), watched));
  const held = holdBack(ahead, {
    judge: createBeginningJudge(CODECS[protocol].watch, true),
    deadlines,
    outputMs,
  });
  let now: Beginning | undefined | "open" = "open";
  held.then((found) => now = found, () => {});
  const found = async () => {
    await settle();
    return now;
  };
  return { timers, source, ahead, held, found };
}

const bytes = (text: string) => new TextEncoder().encode(text);

async function readRest(ahead: LookAhead): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await ahead.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
}

for (const protocol of PROTOCOLS) {
  const { start, output, end, failure } = WIRES[protocol];

  Deno.test(`holdBack() returns a ${protocol} stream at its first output, byte for byte`, async () => {
    const text = `: comment\r\n\r\n${start}${output}${end}`;
    for (const size of [1, 7, 100, text.length]) {
      const scene = begin(protocol);
      for (let at = 0; at < text.length; at += size) {
        scene.source.enqueue(bytes(text.slice(at, at + size)));
      }
      scene.source.close();
      assert.deepEqual(await scene.held, { kind: "good" });
      assert.equal(await readRest(scene.ahead), text);
      assert.equal(scene.timers.running, 0);
    }
  });

  Deno.test(`holdBack() finds a ${protocol} failure after a byte order mark and in lines that end in CR`, async () => {
    const marked = bytes("\uFEFF" + failure.replaceAll("\n", "\r"));
    for (let size = 1; size <= 4; size++) {
      const scene = begin(protocol);
      scene.source.enqueue(marked.slice(0, size));
      scene.source.enqueue(marked.slice(size));
      assert.equal((await scene.held)?.kind, "failure");
    }
  });

  Deno.test(`holdBack() accepts an empty ${protocol} answer`, async () => {
    const scene = begin(protocol);
    scene.source.enqueue(bytes(start + end));
    assert.deepEqual(await scene.found(), { kind: "good" });
  });
}

Deno.test("holdBack() finds the failure in a last line without a line feed", async () => {
  const scene = begin("chat");
  scene.source.enqueue(bytes('data: {"error":{"message":"no"}}'));
  scene.source.close();
  assert.equal((await scene.held)?.kind, "failure");
});

Deno.test("holdBack() releases the stream after 64 events, 256 KiB or 15 s", async (t) => {
  await t.step("64 events", async () => {
    const scene = begin("messages");
    const ping = bytes('event: ping\ndata: {"type":"ping"}\n\n');
    for (let count = 0; count < 63; count++) scene.source.enqueue(ping);
    assert.equal(await scene.found(), "open");
    scene.source.enqueue(ping);
    assert.deepEqual(await scene.found(), { kind: "good" });
  });
  for (
    const [what, filler] of [["a comment", ":"], ["white space", " "]] as const
  ) {
    await t.step(`256 KiB of ${what}`, async () => {
      const scene = begin("chat", { outputMs: 40_000 });
      const text = filler.padEnd(256 * 1024 - 1);
      scene.source.enqueue(bytes(text));
      assert.equal(await scene.found(), "open");
      scene.source.enqueue(bytes(" "));
      assert.equal(await scene.found(), undefined);
      scene.source.close();
      assert.equal(await readRest(scene.ahead), `${text} `);
    });
  }
  await t.step("15 s", async () => {
    const scene = begin("chat", { idleMs: 60_000 });
    scene.source.enqueue(bytes(": ping\n\n"));
    await scene.found();
    scene.timers.advance(14_999);
    assert.equal(await scene.found(), "open");
    scene.timers.advance(1);
    assert.equal(await scene.found(), undefined);
    scene.source.enqueue(bytes("data: late\n\n"));
    scene.source.close();
    assert.equal(await readRest(scene.ahead), ": ping\n\ndata: late\n\n");
  });
});

Deno.test("holdBack() discards empty chunks", async () => {
  const scene = begin("chat");
  scene.source.enqueue(bytes(": ping\n\n"));
  for (let count = 0; count < 1000; count++) scene.source.enqueue(bytes(""));
  scene.source.enqueue(bytes(WIRES.chat.output));
  assert.deepEqual(await scene.held, { kind: "good" });
  const { value } = await scene.ahead.read();
  assert.deepEqual(value, bytes(`: ping\n\n${WIRES.chat.output}`));
});

Deno.test("holdBack() neither reads nor checks the stream after 15 s", async () => {
  const scene = begin("chat");
  await scene.found();
  scene.timers.advance(15_000);
  assert.equal(await scene.found(), undefined);
  const chunks = [": late\n\n", ": later\n\n", WIRES.chat.failure];
  for (const chunk of chunks) scene.source.enqueue(bytes(chunk));
  await settle();
  // The waiting read gets the first chunk. The others stay queued.
  assert.equal(scene.source.desiredSize, 1 - 2);
  scene.source.close();
  assert.equal(await readRest(scene.ahead), chunks.join(""));
});
