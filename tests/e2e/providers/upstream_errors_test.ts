import assert from "node:assert/strict";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sharedFile, tokenOf } from "../../support/gateway/shared_gateway.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";

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
        const response = await gateway.call(PATHS[protocol], ask(protocol));
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
      const response = await gateway.call(PATHS.chat, ask("chat"));
      assert.equal(response.headers.get("location"), null);
      const error = await readError(response, "chat");
      assert.equal(error.status, 502);
      assert.equal(error.code, "upstream_redirect");
      assert.doesNotMatch(error.message, /canary|127\.0\.0\.1/);
    });
  }
  assert.equal(elsewhere.requests.items.length, 0);
});

/** Statuses that no answer to a request can have, written by a provider's socket. */
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
        const response = await gateway.call(
          PATHS.chat,
          ask("chat", body, headers),
        );
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

Deno.test("an interim answer before the final one passes unseen", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(
      connection,
      "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    )
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const response = await gateway.call(PATHS.chat, ask("chat"));
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

Deno.test("all other errors of an upstream pass with status, body and the headers of a wait", async (t) => {
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
        const response = await gateway.call(PATHS[protocol], ask(protocol));
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

Deno.test("an implausible or invalid wait is left out, natively and translated", async (t) => {
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
          const response = await gateway.call(
            PATHS[protocol],
            ask(protocol, body, headers),
          );
          await response.body?.cancel();
          assert.equal(response.status, 400);
          assert.equal(response.headers.get("retry-after"), shown, sent);
        }
      });
    }
  }
});
