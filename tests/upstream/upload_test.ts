import assert from "node:assert/strict";
import { Upload } from "../../src/upstream/upload.ts";

const LONG = crypto.getRandomValues(new Uint8Array(60_000));

/** Longer than what goes in one piece. */
function longBytes(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(20 * LONG.length + 1);
  for (let copy = 0; copy < 20; copy++) bytes.set(LONG, copy * LONG.length);
  return bytes;
}

async function piecesOf(upload: Upload): Promise<number[]> {
  const sizes: number[] = [];
  for await (const piece of upload.stream()) sizes.push(piece.length);
  return sizes;
}

Deno.test("an upload streams the bytes of its body, whatever that is", async (t) => {
  const text = "naïve €";
  const cases: Readonly<
    Record<string, readonly [ConstructorParameters<typeof Upload>[0], BodyInit]>
  > = {
    "a text": [text, text],
    "no text": ["", ""],
    "bytes": [LONG, LONG],
    "a blob": [new Blob([LONG, text]), new Blob([LONG, text])],
    "a long text": [text.repeat(100_000), text.repeat(100_000)],
    "long bytes": [longBytes(), longBytes()],
    "a long blob": [
      new Blob([longBytes(), LONG]),
      new Blob([longBytes(), LONG]),
    ],
    "no blob": [new Blob([]), ""],
  };
  for (const [name, [body, same]] of Object.entries(cases)) {
    await t.step(name, async () => {
      const upload = new Upload(body);
      const expected = await new Response(same).bytes();
      assert.equal(upload.size, expected.length);
      assert.deepEqual(await new Response(upload.stream()).bytes(), expected);
      assert.deepEqual(await upload.bytes(), expected);
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
  assert.deepEqual(await new Response(upload.stream()).bytes(), longBytes());
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
