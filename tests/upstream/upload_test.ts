import assert from "node:assert/strict";
import { LongBytes } from "../../src/streams/bytes.ts";
import { ShortUpload, Upload } from "../../src/upstream/upload.ts";

const LONG = crypto.getRandomValues(new Uint8Array(60_000));

/** More than what goes in one piece, in pieces of its own. */
function longBytes(): LongBytes {
  return new LongBytes([...Array(20).fill(LONG), LONG.subarray(0, 1)]);
}

async function piecesOf(upload: Upload): Promise<number[]> {
  const sizes: number[] = [];
  for await (const piece of upload.stream()) sizes.push(piece.length);
  return sizes;
}

Deno.test("an upload streams the bytes of its body, however they lie in memory", async (t) => {
  const cases: Readonly<Record<string, LongBytes>> = {
    "in one piece": new LongBytes([longBytes().join()]),
    "in many": longBytes(),
    "in small ones": new LongBytes(Array(100).fill(LONG.subarray(0, 7))),
    "none": new LongBytes([]),
  };
  for (const [name, body] of Object.entries(cases)) {
    await t.step(name, async () => {
      const upload = new Upload(body);
      assert.equal(upload.size, body.length);
      assert.deepEqual(await new Response(upload).bytes(), body.join());
      assert.ok(upload.isTaken);
    });
  }
});

Deno.test("an upload streams a long body in several pieces", async () => {
  const sizes = await piecesOf(new Upload(longBytes()));
  assert.ok(sizes.length > 4, String(sizes));
});

Deno.test("a patient upload streams the same bytes, in more pieces", async () => {
  const upload = new Upload(longBytes(), { isPatient: true });
  assert.deepEqual(await new Response(upload).bytes(), longBytes().join());
  assert.ok(upload.isTaken);
  const patient = new Upload(longBytes(), { isPatient: true });
  const quick = await piecesOf(new Upload(longBytes()));
  assert.ok((await piecesOf(patient)).length > quick.length);
});

Deno.test("an upload that is given up streams no more and is never taken", async () => {
  const upload = new Upload(longBytes());
  const reader = upload.stream().getReader();
  await reader.read();
  upload.giveUp();
  await assert.rejects(reader.read(), /given up/);
  assert.ok(!upload.isTaken);
});

Deno.test("an upload is taken once its last piece is", async () => {
  const upload = new Upload(longBytes());
  const reader = upload.stream().getReader();
  let bytes = 0;
  while (bytes < upload.size) {
    assert.ok(!upload.isTaken);
    bytes += (await reader.read()).value?.length ?? assert.fail();
  }
  assert.ok(upload.isTaken);
});

Deno.test("an upload that nobody has streamed counts as taken, so that it is not sent again", () => {
  assert.ok(new Upload(longBytes()).isTaken);
});

Deno.test("an upload is through once all of it was streamed, and never when it broke off", async () => {
  const upload = new Upload(longBytes());
  assert.ok(!upload.isThrough);
  const reader = upload.stream().getReader();
  await reader.read();
  assert.ok(!upload.isThrough);
  while (!(await reader.read()).done);
  assert.ok(upload.isThrough);

  const broken = new Upload(longBytes());
  const begun = broken.stream().getReader();
  await begun.read();
  await begun.cancel();
  assert.ok(!broken.isThrough);
});

Deno.test("an upload that is sent again is not through before that is, so that nobody frees its bytes", async () => {
  const upload = new Upload(longBytes());
  await piecesOf(upload);
  assert.ok(upload.isThrough);
  const again = upload.again();
  assert.ok(!upload.isThrough);
  assert.deepEqual(await new Response(again).bytes(), longBytes().join());
  assert.ok(upload.isThrough);
});

Deno.test("a short upload streams its bytes in one piece and knows how many they are", async () => {
  for (const length of [0, 1, 60_000]) {
    const bytes = crypto.getRandomValues(new Uint8Array(length));
    const upload = new ShortUpload(bytes);
    assert.equal(upload.size, length);
    const pieces = await Array.fromAsync(upload.stream());
    assert.deepEqual(pieces, length === 0 ? [] : [bytes]);
  }
});

Deno.test("a short upload reaches a server whole, under its length", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { headers } = request;
      return Response.json([
        headers.get("content-length"),
        headers.get("transfer-encoding"),
        await request.text(),
      ]);
    },
  );
  using client = Deno.createHttpClient({});
  const url = `http://127.0.0.1:${server.addr.port}/`;
  for (const text of ["{}", "naïve €"]) {
    const bytes = new TextEncoder().encode(text);
    const body = new ShortUpload(bytes);
    const answer = await fetch(url, { method: "POST", body, client });
    assert.deepEqual(await answer.json(), [String(bytes.length), null, text]);
  }
});
