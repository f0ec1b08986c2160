import assert from "node:assert/strict";
import {
  type QuotaFetch,
  readQuota,
} from "../../../src/gateway/quotas/read.ts";
import { readerOf } from "../../../src/gateway/quotas/readers/mod.ts";
import type {
  QuotaPoll,
  QuotaSource,
} from "../../../src/gateway/quotas/readers/reader.ts";
import {
  type FailedReading,
  isGood,
  type Reading,
} from "../../../src/gateway/quotas/reading.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { fixture, KEY, sourceOf } from "./quota_case.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { steps } from "../../support/steps.ts";

const ZAI = sourceOf("zai", { base: "https://api.z.ai/api/paas/v4" });

interface ReadParts {
  readonly source?: QuotaSource;
  readonly poll?: QuotaPoll;
  readonly fetch: QuotaFetch;
  readonly signal?: AbortSignal;
}

function read(parts: ReadParts): Promise<Reading> {
  const source = parts.source ?? ZAI;
  const poll = parts.poll ?? readerOf(source.quota).poll;
  assert.ok(poll);
  return readQuota(poll, source, {
    fetch: parts.fetch,
    clock: createFakeClock(NOW_MS),
    signal: parts.signal ?? new AbortController().signal,
  });
}

async function failureOf(parts: ReadParts): Promise<FailedReading["failure"]> {
  const reading = await read(parts);
  assert.ok(!isGood(reading));
  return reading.failure;
}

function answering(body: BodyInit | null, init?: ResponseInit): QuotaFetch {
  return () => Promise.resolve(new Response(body, init));
}

Deno.test("readQuota() returns the windows with the time of the reading", async () => {
  const reading = await read({
    fetch: answering(JSON.stringify(fixture("zai/credits"))),
  });
  assert.ok(isGood(reading));
  assert.equal(reading.windows.length, 3);
  assert.equal(reading.checkedAtMs, NOW_MS);
});

Deno.test("readQuota() follows no redirect and requests an uncompressed body", async () => {
  const calls: RequestInit[] = [];
  await read({
    fetch: (_, init) => {
      calls.push(init);
      return Promise.resolve(new Response("{}"));
    },
  });
  const [init] = calls;
  assert.equal(init?.redirect, "manual");
  assert.equal(init?.method ?? "GET", "GET");
  assert.equal(init?.body, undefined);
  const headers = new Headers(init?.headers);
  assert.equal(headers.get("accept-encoding"), "identity");
  assert.equal(headers.get("authorization"), KEY);
});

Deno.test("readQuota() sends the connection's fixed headers only to the connection's own host", async () => {
  const seen: (string | null)[] = [];
  const fetch: QuotaFetch = (_, init) => {
    seen.push(new Headers(init.headers).get("x-team"));
    return Promise.resolve(new Response("{}"));
  };
  const headers = { "x-team": "platform" };
  await read({ fetch, source: sourceOf("zai", { headers }) });
  const url = "https://elsewhere.example/quota";
  await read({ fetch, source: sourceOf("zai", { headers, quota: { url } }) });
  assert.deepEqual(seen, ["platform", null]);
});

Deno.test("readQuota() returns a failure by the status", async (t) => {
  const reasons = {
    301: "invalid_response",
    302: "invalid_response",
    307: "invalid_response",
    400: "unavailable",
    401: "unauthorized",
    402: "no_plan",
    403: "unauthorized",
    404: "unavailable",
    410: "unavailable",
    429: "rate_limited",
    500: "unavailable",
    503: "unavailable",
    529: "unavailable",
  } as const;
  for (const [status, reason] of Object.entries(reasons)) {
    await t.step(`${status} is ${reason}`, async () => {
      const fetch = answering("no", { status: Number(status) });
      assert.equal((await failureOf({ fetch })).reason, reason);
    });
  }
  await t.step("404 from kimi is no_plan", async () => {
    const source = sourceOf("kimi");
    const fetch = answering("no", { status: 404 });
    assert.equal((await failureOf({ fetch, source })).reason, "no_plan");
  });
  await t.step(
    "a 403 with a page is unavailable, since a proxy sent it",
    async () => {
      const headers = { "content-type": "text/html; charset=utf-8" };
      const fetch = answering("<html>", { status: 403, headers });
      assert.equal((await failureOf({ fetch })).reason, "unavailable");
    },
  );
});

Deno.test("readQuota() reads both forms of Retry-After", async (t) => {
  const cases = {
    "120": 120_000,
    "0": 0,
    "Thu, 01 Jan 2026 00:00:30 GMT": 30_000,
    "Wed, 31 Dec 2025 00:00:00 GMT": 0,
    "soon": undefined,
    "-5": undefined,
  };
  await steps(t, Object.entries(cases), async ([value, expected]) => {
    const headers = { "retry-after": value };
    const fetch = answering("no", { status: 429, headers });
    assert.equal((await failureOf({ fetch })).retryAfterMs, expected);
  });
  await t.step("none", async () => {
    const fetch = answering("no", { status: 503 });
    assert.equal((await failureOf({ fetch })).retryAfterMs, undefined);
  });
});

Deno.test("readQuota() cancels the body of an error unread", async () => {
  let isCancelled = false;
  const body = new ReadableStream({
    cancel: () => {
      isCancelled = true;
    },
  });
  await failureOf({ fetch: answering(body, { status: 500 }) });
  assert.ok(isCancelled);
});

Deno.test("readQuota() stops reading a body beyond 256 KiB", async () => {
  let pulled = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  const failure = await failureOf({ fetch: answering(body) });
  assert.equal(failure.reason, "invalid_response");
  assert.match(failure.message, /256 KiB/);
  assert.ok(isCancelled);
  assert.ok(pulled < 10, `${pulled} chunks were read`);
});

Deno.test("readQuota() accepts a body of exactly 256 KiB", async () => {
  const whole = JSON.stringify(fixture("zai/credits"));
  const fetch = answering(whole.padEnd(256 * 1024));
  assert.ok(isGood(await read({ fetch })));
});

Deno.test("readQuota() returns unreachable when a provider breaks off", async (t) => {
  await t.step("before its answer", async () => {
    const fetch = () => Promise.reject(new TypeError("refused by 10.0.0.1"));
    const failure = await failureOf({ fetch });
    assert.equal(failure.reason, "unreachable");
    assert.match(failure.message, /could not be reached/);
  });
  await t.step("in the middle of its answer", async () => {
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"code":'));
      },
      pull: (controller) => controller.error(new TypeError("reset")),
    });
    const failure = await failureOf({ fetch: answering(body) });
    assert.equal(failure.reason, "unreachable");
  });
});

Deno.test("readQuota() ends when its signal aborts", async () => {
  const controller = new AbortController();
  const fetch: QuotaFetch = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      controller.abort(new DOMException("over", "TimeoutError"));
    });
  const failure = await failureOf({ fetch, signal: controller.signal });
  assert.equal(failure.reason, "unreachable");
  assert.match(failure.message, /in time/);
});

Deno.test("readQuota() ignores the failure of an optional call", async () => {
  const token = JSON.stringify(fixture("new_api/token"));
  const reading = await read({
    source: sourceOf("new-api"),
    fetch: (url) =>
      Promise.resolve(
        url.endsWith("/api/status")
          ? new Response("no", { status: 500 })
          : new Response(token),
      ),
  });
  assert.ok(isGood(reading));
  assert.equal(reading.windows[0]?.unit, "quota");
});

Deno.test("readQuota() aborts all calls of a reading when one call fails", async () => {
  let isAborted = false;
  const failure = await failureOf({
    source: sourceOf("new-api"),
    fetch: (url, { signal }) => {
      if (!url.endsWith("/api/status")) {
        return Promise.resolve(new Response("no", { status: 401 }));
      }
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          isAborted = true;
          reject(signal.reason);
        });
      });
    },
  });
  assert.equal(failure.reason, "unauthorized");
  assert.ok(isAborted);
});

Deno.test("readQuota() makes the further calls that the first answers require", async () => {
  const bodies: Readonly<Record<string, string>> = {
    "/key/info": "litellm/key",
    "/user/info": "litellm/user",
    "/team/info": "litellm/team",
  };
  const urls: string[] = [];
  const reading = await read({
    source: sourceOf("litellm"),
    fetch: (url) => {
      urls.push(url);
      const name = bodies[new URL(url).pathname] ?? "";
      return Promise.resolve(new Response(JSON.stringify(fixture(name))));
    },
  });
  assert.ok(isGood(reading));
  assert.equal(reading.windows.length, 4);
  assert.deepEqual(urls, [
    "https://quota.example/key/info",
    "https://quota.example/user/info?user_id=user-1",
    "https://quota.example/team/info?team_id=team-2",
  ]);
});

Deno.test("readQuota() sends no request when a setting is missing", async () => {
  const failure = await failureOf({
    source: sourceOf("zai", { quota: { plan: "team" } }),
    fetch: () => assert.fail("Nobody was to be asked"),
  });
  assert.equal(failure.reason, "configuration_required");
});

Deno.test("readQuota() returns a failure when a reader throws an unexpected error", async () => {
  const poll: QuotaPoll = {
    requests: () => [],
    parse: () => {
      throw new TypeError("x is undefined");
    },
  };
  const failure = await failureOf({ poll, fetch: answering("{}") });
  assert.equal(failure.reason, "unavailable");
  assert.ok(failure.cause instanceof TypeError);
});

Deno.test("readQuota() quotes neither the provider nor a key in its failures", async (t) => {
  const canary = "canary-7f3a";
  const error = { code: 401, msg: canary, message: canary, success: false };
  const fetches: Readonly<Record<string, QuotaFetch>> = {
    "an error under HTTP 200": answering(JSON.stringify(error)),
    "an error by status": answering(canary, {
      status: 401,
      headers: { "www-authenticate": canary },
    }),
    "a page": answering(`<html>${canary}</html>`),
    "a redirect": answering(null, {
      status: 302,
      headers: { location: `https://${canary}.example/` },
    }),
    "wrong values": answering(
      JSON.stringify({ data: { limits: [{ type: canary, unit: canary }] } }),
    ),
    "wrong names": answering(
      JSON.stringify({ usages: { [`${canary}@example.com`]: 5 } }),
    ),
    "a network error": () => Promise.reject(new TypeError(canary)),
  };
  const auth = { scheme: "bearer", key: canary } as const;
  for (const [what, fetch] of Object.entries(fetches)) {
    for (const kind of ["zai", "kimi", "openrouter", "gateway"] as const) {
      await t.step(`${kind}: ${what}`, async () => {
        const source = sourceOf(kind, { auth });
        const { message } = await failureOf({ fetch, source });
        assert.doesNotMatch(message, new RegExp(canary));
      });
    }
  }
});

/** Quota reads over real sockets, with the platform's own `fetch`. */

/** Serves `handler` on a free port while `use` runs. */
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

function readOverSocket(base: string, signal?: AbortSignal): Promise<Reading> {
  const source = sourceOf("zai", { base });
  const { poll } = readerOf(source.quota);
  assert.ok(poll);
  return readQuota(poll, source, {
    fetch,
    clock: systemClock,
    signal: signal ?? new AbortController().signal,
  });
}

Deno.test("readQuota() sends the connection's credential over a socket", async () => {
  const seen: unknown[] = [];
  const handler = ({ method, url, headers }: Request) => {
    seen.push([method, new URL(url).pathname, headers.get("authorization")]);
    return Response.json(fixture("zai/credits"));
  };
  await withServer(handler, async (base) => {
    assert.ok(isGood(await readOverSocket(base)));
    assert.deepEqual(seen, [["GET", "/api/monitor/usage/quota/limit", KEY]]);
  });
});

Deno.test("readQuota() does not follow a redirect over a socket", async () => {
  let reached = 0;
  const elsewhere = () => {
    reached += 1;
    return Response.json(fixture("zai/credits"));
  };
  await withServer(elsewhere, async (target) => {
    await withServer(() => Response.redirect(target, 307), async (base) => {
      const reading = await readOverSocket(base);
      assert.ok(!isGood(reading));
      assert.equal(reading.failure.reason, "invalid_response");
      assert.equal(reached, 0);
    });
  });
});

Deno.test("readQuota() cuts off an endless answer", async () => {
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const handler = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => leave(),
      }),
    );
  await withServer(handler, async (base) => {
    const reading = await readOverSocket(base);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "invalid_response");
    await gone;
  });
});

Deno.test("readQuota() limits a compressed answer by its decompressed length", async () => {
  const bomb = new Blob([new Uint8Array(8 * 1024 * 1024)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const bytes = await new Response(bomb).bytes();
  const handler = () =>
    new Response(bytes, { headers: { "content-encoding": "gzip" } });
  await withServer(handler, async (base) => {
    const reading = await readOverSocket(base);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "invalid_response");
  });
});

Deno.test("readQuota() closes its socket when it is aborted", async () => {
  const controller = new AbortController();
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const handler = (request: Request) => {
    request.signal.addEventListener("abort", () => leave());
    controller.abort();
    return gone.then(() => new Response());
  };
  await withServer(handler, async (base) => {
    const reading = await readOverSocket(base, controller.signal);
    assert.ok(!isGood(reading));
    assert.equal(reading.failure.reason, "unreachable");
    await gone;
  });
});

Deno.test("readQuota() returns unreachable when no server listens", async () => {
  let base = "";
  await withServer(() => new Response(), (address) => {
    base = address;
    return Promise.resolve();
  });
  const reading = await readOverSocket(base);
  assert.ok(!isGood(reading));
  assert.equal(reading.failure.reason, "unreachable");
});
