import assert from "node:assert/strict";
import { discard } from "../../src/streams/discard.ts";
import { settle } from "../support/settle.ts";

Deno.test("discard() cancels the body of an answer", async () => {
  const cancelled = Promise.withResolvers<void>();
  discard(
    new Response(new ReadableStream({ cancel: () => cancelled.resolve() })),
  );
  await cancelled.promise;
});

Deno.test("discard() bears an answer without a body, and one that broke off", async () => {
  discard(new Response(null));
  const broken = new Response(
    new ReadableStream({
      start: (controller) => controller.error(new Error("reset")),
    }),
  );
  discard(broken);
  await settle();
  assert.ok(broken.bodyUsed);
});
