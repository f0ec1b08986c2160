import assert from "node:assert/strict";
import { ShortUpload } from "../../src/upstream/short_upload.ts";

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
