import { createHttp1Client } from "../../../src/http1/client/client.ts";
import assert from "node:assert/strict";
import { credentials, hello, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sharedFile, tokenOf } from "../../support/gateway/shared_gateway.ts";
import {
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { freePort } from "../../support/program/free_port.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  createDeadlines,
  untilAbort,
} from "../../../src/base/time/deadlines.ts";
import { noAnswer } from "../../support/wire/answers.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { needing, testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

const CANARY = "canary-9e1f";

Deno.test("a refusal of the gateway's own key is 502, without the upstream's text", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const status of [401, 403]) {
    upstream.play(() =>
      Response.json({ error: { message: CANARY } }, {
        status,
        headers: { "www-authenticate": CANARY, "x-upstream": CANARY },
      })
    );
    for (const protocol of PROTOCOLS) {
      await t.step(`${status}: ${protocol}`, async () => {
        const response = await gateway.ask(protocol);
        const text = await response.clone().text();
        assert.ok(!text.includes(CANARY));
        assert.ok(!JSON.stringify([...response.headers]).includes(CANARY));
        const error = await readError(response, protocol);
        assert.equal(error.status, 502);
        if (protocol === "messages") {
          assert.equal(error.type, "api_error");
        } else {
          assert.equal(error.type, "upstream_error");
          assert.equal(error.code, "upstream_authentication");
        }
        const line = await gateway.lines.of(response);
        assert.equal(line.error, "upstream_authentication");
        assert.equal(line.upstream_status, status);
        assert.equal(line.status, 502);
        assert.equal(line.ended, "error");
      });
    }
  }
});

Deno.test("an upstream's redirect is not followed, and its target is not revealed", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  for (const status of [301, 302, 303, 307, 308]) {
    await t.step(String(status), async () => {
      await using gateway = await startGateway(familiesFile(upstream.url));
      const headers = { location: `${elsewhere.url}/${CANARY}` };
      upstream.play(() => new Response(CANARY, { status, headers }));
      const response = await gateway.ask("chat");
      assert.equal(response.headers.get("location"), null);
      const error = await readError(response, "chat");
      assert.equal(error.status, 502);
      assert.equal(error.code, "upstream_redirect");
      assert.doesNotMatch(error.message, /canary|127\.0\.0\.1/);
    });
  }
  assert.equal(elsewhere.requests.items.length, 0);
});

/** Statuses that no final response can have, which a provider writes to its socket. */
const NO_ANSWERS = [
  "000 Odd",
  "099 Odd",
  "100 Continue",
  "101 Switching Protocols",
  "102 Processing",
  "103 Early Hints",
  "199 Odd",
  "600 Odd",
  "999 Odd",
  "1000 Odd",
];

Deno.test("a status that is not final is 502 for the caller and in the log, natively and translated", async (t) => {
  for (const status of NO_ANSWERS) {
    for (const mode of ["native", "translated"] as const) {
      await t.step(`${status}, ${mode}`, async () => {
        await using upstream = startRawUpstream((connection) =>
          say(
            connection,
            `HTTP/1.1 ${status}\r\nupgrade: x\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\n{}`,
          )
        );
        await using gateway = await startGateway(
          sharedFile({ protocol: "chat", mode }, { one: upstream.url }),
          { timers: hurriedTimers },
        );
        const body = hello("chat", { model: "model-1" });
        const headers = credentials("chat", tokenOf("alice"));
        const response = await gateway.ask("chat", body, headers);
        const error = await readError(response, "chat");
        assert.equal(error.status, 502);
        assert.equal(error.type, "upstream_error");
        assert.match(String(error.code), /^upstream_(broken|unreachable)$/);
        const line = await gateway.lines.of(response);
        assert.equal(line.status, 502);
        assert.equal(line.ended, "error");
      });
    }
  }
});

Deno.test("an interim response before the final one is not forwarded", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(
      connection,
      "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    )
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const response = await gateway.ask("chat");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("link"), null);
  assert.equal(await response.text(), "{}");
});

/** Responses of upstreams, with the headers by which clients and agents wait. */
const ERROR_HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "retry-after": "17",
  "retry-after-ms": "16500",
  "x-ratelimit-remaining-requests": "0",
  "x-ratelimit-reset-tokens": "6m0s",
  "anthropic-ratelimit-unified-status": "rejected",
  "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:00Z",
  "x-codex-primary-used-percent": "100",
  "x-should-retry": "true",
};

const STATUSES = [
  ...[400, 402, 404, 405, 406, 408, 409, 410, 413, 415, 422, 424, 429],
  ...[451, 500, 501, 502, 503, 504, 520, 529],
];

Deno.test("an upstream's error that does not concern the gateway's key is forwarded with its status, body and wait headers", async (t) => {
  await using upstream = startUpstream();
  for (const status of STATUSES) {
    await t.step(String(status), async () => {
      // Each has its own gateway, because the next status must not meet a cool-down.
      await using gateway = await startGateway(familiesFile(upstream.url));
      const body = `{"error": {"message":"Nö.","status":${status}}}\n`;
      upstream.play(() =>
        new Response(body, { status, headers: ERROR_HEADERS })
      );
      for (const protocol of PROTOCOLS) {
        const response = await gateway.ask(protocol);
        assert.equal(response.status, status);
        assert.equal(await response.text(), body);
        for (const [name, value] of Object.entries(ERROR_HEADERS)) {
          assert.equal(response.headers.get(name), value);
        }
        const line = await gateway.lines.of(response);
        assert.equal(line.status, status);
        assert.equal(line.upstream_status, status);
        assert.equal(line.ended, "complete");
        await upstream.requests.next();
      }
      assert.equal(upstream.requests.items.length % PROTOCOLS.length, 0);
    });
  }
});

/** The wait in an upstream's header, and the wait that callers receive. */
const WAITS: readonly (readonly [sent: string, shown: string | null])[] = [
  ["17", "17"],
  ["2592000", "2147483"],
  ["3024001", null],
  ["9".repeat(30), null],
  ["Fri, 31 Dec 9999 23:59:59 GMT", null],
  ["Fri, 31 Dec 9999", null],
  ["5, 7", null],
  ["1e30", null],
  ["Infinity", null],
  ["-5", null],
  ["NaN", null],
];

Deno.test("an implausible or invalid wait is dropped, natively and translated", async (t) => {
  for (const mode of ["native", "translated"] as const) {
    for (const protocol of PROTOCOLS) {
      await t.step(`${protocol} ${mode}`, async () => {
        await using upstream = startUpstream();
        for (const [sent, shown] of WAITS) {
          await using gateway = await startGateway(
            sharedFile({ protocol, mode }, { one: upstream.url }),
          );
          upstream.play(() =>
            Response.json({ error: { message: "Refused" } }, {
              status: 400,
              headers: { "retry-after": sent },
            })
          );
          const headers = credentials(protocol, tokenOf("alice"));
          const body = hello(protocol, { model: "model-1" });
          const response = await gateway.ask(protocol, body, headers);
          await response.body?.cancel();
          assert.equal(response.status, 400);
          assert.equal(response.headers.get("retry-after"), shown, sent);
        }
      });
    }
  }
});

const canResolveNames = await Deno.permissions.query({
  name: "net",
  host: "nowhere.invalid",
});

/** Sends a request in each protocol through a gateway whose upstreams are at `url`. */
async function checkUnreachable(
  url: string,
  reason: RegExp,
  kind: "unreachable" | "broken" = "unreachable",
): Promise<void> {
  await using gateway = await startGateway(familiesFile(url), {
    timers: hurriedTimers,
  });
  for (const protocol of PROTOCOLS) {
    const response = await gateway.ask(protocol);
    const error = await readError(response, protocol);
    assert.equal(error.status, 502);
    assert.equal(
      error.type,
      protocol === "messages" ? "api_error" : "upstream_error",
    );
    assert.match(error.message, reason);
    assert.doesNotMatch(error.message, /127\.0\.0\.1|invalid|http/);
    const line = await gateway.lines.of(response);
    assert.equal(line.ended, "error");
    assert.equal(line.status, 502);
    assert.equal(line.error, `upstream_${kind}`);
    assert.match(String(line.reason), reason);
  }
}

Deno.test("an upstream that rejects the connection is 502", async () => {
  await checkUnreachable(
    `http://127.0.0.1:${freePort()}`,
    /refused the connection/,
  );
});

Deno.test({
  ...needing(
    "an upstream whose name is unknown is 502",
    canResolveNames.state !== "granted" && "no right to look up names",
  ),
  fn: () => checkUnreachable("http://nowhere.invalid", /host name is unknown/),
});

Deno.test("an upstream with an untrusted certificate is 502", async () => {
  await using upstream = startUpstream(undefined, testCertificate);
  await checkUnreachable(upstream.url, /certificate is not valid/);
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("an upstream without the expected TLS is 502", async () => {
  await using upstream = startUpstream();
  const url = upstream.url.replace("http:", "https:");
  await checkUnreachable(url, /TLS handshake failed/);
});

/** The faults of an upstream that does not answer. */
const BREAKING: Readonly<Record<string, readonly [Talk, RegExp]>> = {
  "closes the connection": [() => {}, /closed the connection/],
  "closes the connection in its headers": [
    (connection) => say(connection, "HTTP/1.1 200 OK\r\ncontent-"),
    /broke off/,
  ],
};

Deno.test("an upstream that does not speak HTTP is 502", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(connection, "SSH-2.0-OpenSSH\r\n\r\n")
  );
  await checkUnreachable(upstream.url, /does not speak HTTP/, "broken");
});

Deno.test("an upstream that breaks before it answers is 502", (t) =>
  steps(t, Object.entries(BREAKING), async ([, [talk, reason]]) => {
    await using upstream = startRawUpstream(talk);
    await checkUnreachable(upstream.url, reason);
  }));

Deno.test("an upstream that sends no headers in time is 504, and its connection closes", async (t) => {
  await using upstream = startUpstream(noAnswer);
  const timeouts = { first_byte: 100 };
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts }),
    { timers },
  );
  await steps(t, PROTOCOLS, async (protocol) => {
    const answering = gateway.ask(protocol);
    const { signal } = await upstream.requests.next();
    timers.advance(100);
    const response = await answering;
    const error = await readError(response, protocol);
    assert.equal(error.status, 504);
    assert.equal(error.type, "timeout_error");
    await within(aborted(signal), "the upstream's request to be aborted");
    const line = await gateway.lines.of(response);
    assert.equal(line.ended, "error");
    assert.equal(gateway.admission.active, 0);
  });
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

Deno.test("an upstream that never completes its TLS handshake is 502 at the same deadline", async () => {
  const over = Promise.withResolvers<void>();
  await using upstream = startRawUpstream(() => over.promise);
  const url = upstream.url.replace("http:", "https:");
  await using gateway = await startGateway(
    familiesFile(url, { timeouts: { first_byte: 100 } }),
  );
  const response = await gateway.ask("chat");
  assert.equal((await readError(response, "chat")).status, 504);
  // Deno keeps a connection whose handshake is unfinished until the provider closes it.
  over.resolve();
});

Deno.test("an upstream that accepts no connection is 502 at the connect timeout, natively and translated", async (t) => {
  using client = createHttp1Client({
    dial: (_, signal) => untilAbort(new Promise(() => {}), signal),
    deadlines: createDeadlines(hurriedTimers),
  });
  await using gateway = await startGateway(familiesFile("http://192.0.2.1"), {
    client,
    timers: hurriedTimers,
  });
  await steps(t, ["model-a", "model-b", "model-c"], async (model) => {
    const body = hello("chat", { model });
    const response = await gateway.ask("chat", body);
    const error = await readError(response, "chat");
    assert.equal(error.status, 502);
    assert.match(error.message, /the connection timed out/);
    assert.equal(gateway.admission.active, 0);
  });
});

/** Opens a port with a full queue of connections. The system accepts no further one. */
async function startBlackHole(): Promise<
  Disposable & { readonly url: string }
> {
  const listener = Deno.listen({
    hostname: "127.0.0.1",
    port: 0,
    tcpBacklog: 1,
  });
  const { hostname, port } = listener.addr;
  // Linux queues one connection more than the backlog.
  const waiting = [
    await Deno.connect({ hostname, port }),
    await Deno.connect({ hostname, port }),
  ];
  return {
    url: `http://${hostname}:${port}`,
    [Symbol.dispose]() {
      for (const connection of waiting) connection.close();
      listener.close();
    },
  };
}

const isLinux = Deno.build.os === "linux";

testNeeding(
  isLinux
    ? "an upstream whose system answers no connect is 502 at the connect deadline"
    : "an upstream whose system answers no connect (ignored: other systems fill a queue otherwise)",
  !isLinux && "only Linux answers so",
  async () => {
    using hole = await startBlackHole();
    await using gateway = await startGateway(familiesFile(hole.url), {
      timers: hurriedTimers,
    });
    const response = await gateway.ask("chat");
    const error = await readError(response, "chat");
    assert.equal(error.status, 502);
    assert.match(error.message, /the connection timed out/);
    assert.equal(gateway.admission.active, 0);
  },
);
