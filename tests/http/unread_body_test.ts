import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { endRequest } from "../../src/http/unread_body.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { readToEnd } from "../support/wire/read_to_end.ts";
import { settle } from "../support/settle.ts";

const MIB = 1024 * 1024;
const CHUNKED = { "transfer-encoding": "chunked" };

/** A refused request whose body is in the test's hand. */
function begin(headers: Readonly<Record<string, string>> = CHUNKED) {
  const timers = createFakeTimers();
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (source = controller),
    pull: () => void taken++,
  }, { highWaterMark: 0 });
  assert.ok(source);
  const request = new Request("http://gateway/", {
    method: "POST",
    headers,
    body,
  });
  const refusal = Response.json({ error: "no" }, { status: 401 });
  const ending = endRequest(
    { request, headers: request.headers },
    refusal,
    createDeadlines(timers),
  );
  return { timers, source, ending, taken: () => taken };
}

type Scene = ReturnType<typeof begin>;

/** Whether the answer breaks behind its last byte, once time passes. */
async function isCut({ ending, timers }: Scene): Promise<boolean> {
  const response = await ending;
  assert.equal(response.status, 401);
  const reading = readToEnd(response.body);
  for (let count = 0; count < 5; count++) await settle();
  timers.advance(99);
  timers.advance(1);
  const { text, isCut } = await reading;
  assert.equal(text, '{"error":"no"}');
  assert.equal(response.headers.get("connection"), isCut ? "close" : null);
  assert.equal(timers.running, 0);
  return isCut;
}

Deno.test("endRequest() returns a clean response up to a declared 64 MiB and breaks it beyond, without reading", async () => {
  for (const [bytes, expected] of [[64 * MIB, false], [64 * MIB + 1, true]]) {
    const scene = begin({ "content-length": String(bytes) });
    assert.equal(await isCut(scene), expected);
    assert.equal(scene.taken(), 0);
  }
});

Deno.test("endRequest() reads the rest of a body of unknown length, and no more than 64 MiB of it", async () => {
  for (const [mib, expected] of [[64, false], [65, true]] as const) {
    const scene = begin();
    for (let count = 0; count < mib; count++) {
      scene.source.enqueue(new Uint8Array(MIB));
    }
    if (!expected) scene.source.close();
    assert.equal(await isCut(scene), expected);
  }
});

Deno.test("endRequest() waits two seconds for more of a body of unknown length", async () => {
  const scene = begin();
  for (let count = 0; count < 4; count++) {
    await settle();
    scene.timers.advance(1999);
    scene.source.enqueue(new Uint8Array(1));
    await settle();
  }
  let isOver = false;
  scene.ending.then(() => {
    isOver = true;
  });
  scene.timers.advance(1999);
  await settle();
  assert.equal(isOver, false);
  scene.timers.advance(1);
  assert.equal(await isCut(scene), true);
});

Deno.test("endRequest() waits ten seconds for the end of a body of unknown length", async () => {
  const scene = begin();
  for (let count = 0; count < 10; count++) {
    await settle();
    scene.source.enqueue(new Uint8Array(1));
    await settle();
    scene.timers.advance(1000);
  }
  assert.equal(await isCut(scene), true);
});

Deno.test("endRequest() returns a clean response for a body that breaks off", async () => {
  const scene = begin();
  scene.source.error(new TypeError("connection reset"));
  assert.equal(await isCut(scene), false);
});

Deno.test("endRequest() breaks the response to a GET with chunks", async () => {
  const timers = createFakeTimers();
  const request = new Request("http://gateway/", { headers: CHUNKED });
  const ending = endRequest(
    { request, headers: request.headers },
    new Response(null),
    createDeadlines(timers),
  );
  const reading = readToEnd((await ending).body);
  timers.advance(100);
  assert.deepEqual(await reading, { text: "", isCut: true });
});
