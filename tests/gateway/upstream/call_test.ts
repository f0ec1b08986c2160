import {
  CallerLeft,
  callUpstream,
  type Fetch,
} from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { settle } from "../../support/settle.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import { steps } from "../../support/steps.ts";

type UpstreamCall = Parameters<typeof callUpstream>[1];

function scene(firstByteMs = 100) {
  const timers = createFakeTimers();
  const controller = new AbortController();
  const deadlines = createDeadlines(timers);
  const call: UpstreamCall = {
    url: "http://upstream/v1/x",
    headers: [["x-a", "1"]],
    body: new TextEncoder().encode("{}"),
    deadlines,
    connectMs: 50,
    firstByteMs,
    controller,
  };
  return { timers, controller, call };
}

/** Waits for its signal, like `fetch` when no server answers. */
const silent: Fetch = (_url, { signal }) =>
  new Promise((_, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
  });

Deno.test("callUpstream() sends the request and returns the response", async () => {
  const { call, timers } = scene();
  const answer = new Response("{}", {
    status: 429,
    headers: { "Retry-After": "3" },
  });
  const asked: [string, RequestInit][] = [];
  const client = createFetchClient((url, init) => {
    asked.push([url, init]);
    return Promise.resolve(answer);
  });
  const given = await callUpstream(client, call);
  const { status, body, headers } = given;
  assert.deepEqual([status, body], [429, answer.body]);
  assert.equal(headers.get("retry-after"), "3");
  assert.deepEqual(asked, [["http://upstream/v1/x", {
    method: "POST",
    headers: [["x-a", "1"]],
    body: call.body,
    redirect: "manual",
    signal: call.controller.signal,
  }]]);
  assert.equal(timers.running, 0);
});

Deno.test("callUpstream() sets no deadline for the response's body", async () => {
  const { call, timers, controller } = scene(100);
  await callUpstream(
    createFetchClient(() => Promise.resolve(new Response("{}"))),
    call,
  );
  timers.advance(1e6);
  assert.equal(controller.signal.aborted, false);
});

Deno.test("callUpstream() aborts a call to an upstream that is silent for too long", async () => {
  const { call, timers, controller } = scene(100);
  const calling = callUpstream(createFetchClient(silent), call);
  timers.advance(99);
  await settle();
  assert.equal(controller.signal.aborted, false);
  timers.advance(1);
  await assert.rejects(calling, (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "timeout");
    assert.equal(error.code, "upstream_timeout");
    return true;
  });
  assert.equal(controller.signal.aborted, true);
});

Deno.test("callUpstream() waits forever with a timeout of 0", async () => {
  const { call, timers, controller } = scene(0);
  const calling = callUpstream(createFetchClient(silent), call);
  timers.advance(1e9);
  await settle();
  assert.equal(timers.started, 0);
  controller.abort(new CallerLeft());
  await assert.rejects(calling, CallerLeft);
});

Deno.test("callUpstream() throws the reason when it is aborted", async (t) => {
  await t.step("while it waits", async () => {
    const { call, controller, timers } = scene();
    const calling = callUpstream(createFetchClient(silent), call);
    controller.abort(new CallerLeft());
    await assert.rejects(calling, CallerLeft);
    assert.equal(timers.running, 0);
  });
  await t.step("before it began", async () => {
    const { call, controller } = scene();
    controller.abort(new CallerLeft());
    await assert.rejects(
      callUpstream(createFetchClient(silent), call),
      CallerLeft,
    );
  });
  await t.step("although fetch throws another error", async () => {
    const { call, controller } = scene();
    const fetch: Fetch = () => {
      controller.abort(new CallerLeft());
      return Promise.reject(new TypeError("connection closed"));
    };
    await assert.rejects(
      callUpstream(createFetchClient(fetch), call),
      CallerLeft,
    );
  });
});

Deno.test("callUpstream() names the reason of a missing response, but no address", async () => {
  const cause = new TypeError(
    "error sending request for url (http://upstream/v1/x): client error (Connect): tcp connect error: Connection refused (os error 111)",
  );
  const fetches: readonly Fetch[] = [
    () => Promise.reject(cause),
    () => {
      throw cause;
    },
  ];
  for (const fetch of fetches) {
    const { call, timers } = scene();
    await assert.rejects(
      callUpstream(createFetchClient(fetch), call),
      (error) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.kind, "upstream");
        assert.equal(error.cause, cause);
        assert.match(error.message, /it refused the connection/);
        assert.ok(!error.message.includes("upstream/v1"));
        return true;
      },
    );
    assert.equal(timers.running, 0);
  }
});

/** Statuses that are not final: HTTP has final ones from 200 to 599. The platform skips interim ones except 101. */
const ODD_STATUSES = ["101 Switching Protocols", "600 Odd", "999 Odd"];

Deno.test("callUpstream() rejects a response with a status outside of 200 to 599", (t) =>
  steps(t, ODD_STATUSES, async (status) => {
    await using upstream = startRawUpstream((connection) =>
      say(
        connection,
        `HTTP/1.1 ${status}\r\nupgrade: x\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\n{}`,
      )
    );
    const { call } = scene();
    await assert.rejects(
      callUpstream(
        createFetchClient((_url, init) => fetch(upstream.url, init)),
        call,
      ),
      (error) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.code, "upstream_broken");
        const code = status.slice(0, 3);
        assert.ok(error.message.includes(`it has the status ${code}`));
        return true;
      },
    );
  }));
