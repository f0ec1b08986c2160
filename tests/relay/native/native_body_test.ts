import assert from "node:assert/strict";
import {
  bodyBytes,
  type HeldBody,
  keepBody,
} from "../../../src/relay/request/held_body.ts";
import { nativeBody } from "../../../src/relay/native/relay_native.ts";
import { LongBytes } from "../../../src/streams/bytes.ts";
import { Upload } from "../../../src/upstream/call.ts";
import { createRequestHeadReader } from "../../../src/relay/request/request_head.ts";

const encoder = new TextEncoder();

/** Returns a body of at least `size` bytes, with the model in the middle. */
function bodyOf(size: number): Uint8Array<ArrayBuffer> {
  const text = '{"x":1.50 ,"model" : "glm" ,"y":"é\\u00e9"}';
  const spaces = size - encoder.encode(text).length;
  return encoder.encode(text + " ".repeat(Math.max(0, spaces)));
}

/** Returns the body in the form of a read one, with the model's name split over two chunks. */
function holdBody(bytes: Uint8Array<ArrayBuffer>): HeldBody {
  if (bytes.length <= 256 * 1024) return bytes;
  return new LongBytes([bytes.slice(0, 23), bytes.slice(23)]);
}

/** Returns the text of the upstream body, and the kind of object that holds it. */
async function sent(
  body: HeldBody,
  renamedTo: string | undefined,
): Promise<{ readonly kind: string; readonly text: string }> {
  const reader = createRequestHeadReader({
    operation: "chat_completions",
  });
  reader.push(await bodyBytes(body));
  const { modelSpan } = reader.end();
  const kept = keepBody(body, () => {});
  const built = nativeBody({ body: kept, modelSpan, renamedTo });
  return {
    kind: built.constructor.name,
    text: new TextDecoder().decode(bytesOf(built)),
  };
}

function bytesOf(built: Uint8Array | Upload): Uint8Array {
  return built instanceof Upload ? built.body.join() : built;
}

const SIZES = [
  [0, "Uint8Array"],
  [256 * 1024, "Uint8Array"],
  [256 * 1024 + 1, "Upload"],
] as const;

Deno.test("nativeBody() is the caller's bytes where the model keeps its name", async () => {
  for (const [size, kind] of SIZES) {
    const body = bodyOf(size);
    const text = new TextDecoder().decode(body);
    assert.deepEqual(await sent(holdBody(body), undefined), { kind, text });
  }
});

Deno.test("nativeBody() replaces the model's name and nothing else", async () => {
  for (const [size, kind] of SIZES) {
    for (const name of ["m", "a-longer-name", 'é"\\', ""]) {
      const body = bodyOf(size);
      const text = new TextDecoder().decode(body)
        .replace('"glm"', () => JSON.stringify(name));
      assert.deepEqual(await sent(holdBody(body), name), { kind, text });
    }
  }
});

Deno.test("nativeBody() does not change the caller's bytes", async () => {
  for (const [size] of SIZES) {
    const body = holdBody(bodyOf(size));
    await sent(body, "another");
    assert.deepEqual(await bodyBytes(body), bodyOf(size));
  }
});

Deno.test("nativeBody() lends a long body to its upload, which continues when nobody else needs the body", () => {
  for (const renamedTo of [undefined, "another"]) {
    const kept = keepBody(holdBody(bodyOf(300_000)), () => {});
    const modelSpan = { start: 21, end: 26 };
    const upload = nativeBody({ body: kept, modelSpan, renamedTo });
    assert.ok(upload instanceof Upload);
    kept.release();
    assert.equal(bytesOf(upload).length, upload.body.length);
    assert.equal(upload.isThrough, false);
    upload.end();
    assert.equal(upload.isThrough, true);
  }
});
