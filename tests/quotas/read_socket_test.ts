/** Quota reads over real sockets, with the platform's own `fetch`. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/core/time/timers.ts";
import { readQuota } from "../../src/quotas/read.ts";
import { readerOf } from "../../src/quotas/readers/mod.ts";
import { isGood, type Reading } from "../../src/quotas/reading.ts";
import { fixture, KEY, sourceOf } from "./quota_case.ts";

/** Lets `handler` answer on a free port while `use` runs. */
async function withServer(
  handler: (request: Request) => Response | Promise<Response>,
  use: (base: string) => Promise<void>,
): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    handler,
  );
  try {
    await use(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

function read(base: string, signal?: AbortSignal): Promise<Reading> {
  const source = sourceOf("zai", { base });
  const { poll } = readerOf(source.quota);
  assert.ok(poll);
  return readQuota(poll, source, {
    fetch,
    clock: systemClock,
    signal: signal ?? new AbortController().signal,
  });
}

Deno.test("a quota is read over a socket with the connection's credential", async () => {
  const seen: unknown[] = [];
  const handler = ({ method, url, headers }: Request) => {
    seen.push([method, new URL(url).pathname, headers.get("authorization")]);
    return Response.json(fixture("zai/credits"));
  };
  await withServer(handler, async (base) => {
    assert.ok(isGood(await read(base)));
    assert.deepEqual(seen, [["GET", "/api/monitor/usage/quota/limit", KEY]]);
  });
});

Deno.test("a redirect of a quota read is an error and is not followed", async () => {
  let reached = 0;
  const elsewhere = () => {
    reached += 1;
    return Response.json(fixture("zai/credits"));
  };
  await withServer(elsewhere, async (target) => {
    await withServer(() => Response.redirect(target, 307), async (base) => {
      const reading = await read(base);
      assert.ok(!isGood(reading));
      assert.equal(reading.failure.reason, "invalid_response");
      assert.equal(reached, 0);
    });
  });
});

Deno.test("an endless quota answer is cut off", async () => {
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const handler = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => leave(),
      }),
    );
  await withServer(handler, async (base) => {
    const reading = await read(base);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "invalid_response");
    await gone;
  });
});

Deno.test("a compressed quota answer is limited by its decompressed length", async () => {
  const bomb = new Blob([new Uint8Array(8 * 1024 * 1024)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const bytes = await new Response(bomb).bytes();
  const handler = () =>
    new Response(bytes, { headers: { "content-encoding": "gzip" } });
  await withServer(handler, async (base) => {
    const reading = await read(base);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "invalid_response");
  });
});

Deno.test("a quota read that is given up closes its socket", async () => {
  const controller = new AbortController();
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const handler = (request: Request) => {
    request.signal.addEventListener("abort", () => leave());
    controller.abort();
    return gone.then(() => new Response());
  };
  await withServer(handler, async (base) => {
    const reading = await read(base, controller.signal);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "unreachable");
    await gone;
  });
});

Deno.test("a provider that no server listens for is unreachable", async () => {
  let base = "";
  await withServer(() => new Response(), (address) => {
    base = address;
    return Promise.resolve();
  });
  const reading = await read(base);
  assert.ok(!isGood(reading));
  assert.equal(reading.failure.reason, "unreachable");
});
