import assert from "node:assert/strict";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";

/** Returns a request for the models with more headers. */
function requestWith(headers: string): string {
  return `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
    `${headers}connection: close\r\n\r\n`;
}

function many(count: number): string {
  return Array.from({ length: count }, (_, n) => `x-${n}: a\r\n`).join("");
}

function long(kib: number): string {
  return `x: ${"a".repeat(kib * 1024)}\r\n`;
}

/** The responses of the platform's server to large headers, before the gateway sees them. */
const CASES: Readonly<Record<string, readonly [string, number]>> = {
  "90 headers": [many(90), 200],
  "200 headers": [many(200), 400],
  "10,000 headers": [many(10_000), 400],
  "a value of 60 KiB": [long(60), 200],
  "a value of 64 KiB": [long(64), 400],
  "a value of 1 MiB": [long(1024), 400],
};

Deno.test("more than 100 headers or 64 KiB of them are 400, and the gateway continues to serve", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [name, [headers, expected]] of Object.entries(CASES)) {
    await t.step(name, async () => {
      const { status } = await sendRaw(gateway.port, requestWith(headers));
      assert.equal(status, expected);
      assert.equal((await sendRaw(gateway.port, requestWith(""))).status, 200);
    });
  }
});

function askWith(version: string, header = "anthropic-version"): RequestInit {
  const init = ask("messages");
  const headers = new Headers(init.headers);
  headers.delete("anthropic-version");
  if (version !== "") headers.set(header, version);
  return { ...init, headers };
}

Deno.test("the Messages routes accept any date as the version", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const version of ["2023-06-01", "2026-10-21", "1999-12-31"]) {
    const response = await gateway.call("/v1/messages", askWith(version));
    await response.body?.cancel();
    assert.equal(response.status, 200);
    const seen = await upstream.requests.next();
    assert.equal(seen.headers.get("anthropic-version"), version);
  }
});

Deno.test("a missing or malformed version is 400 and named, on every Messages route", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const wrong = ["", "latest", "2023-6-1", "2023-13-45", "20230601"];
  const paths = ["/v1/messages", "/api/anthropic/v1/messages/count_tokens"];
  for (const path of paths) {
    for (const version of wrong) {
      await t.step(`${path}: ${version}`, async () => {
        const response = await gateway.call(path, askWith(version));
        const error = await readError(response, "messages");
        assert.equal(error.status, 400);
        assert.equal(error.type, "invalid_request_error");
        assert.match(error.message, /anthropic-version/);
      });
    }
  }
});

Deno.test("the credential is checked before the version", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const response = await gateway.call("/v1/messages", {
    method: "POST",
    headers: { "x-api-key": "unknown" },
  });
  assert.equal((await readError(response, "messages")).status, 401);
});

Deno.test("another vendor has its own version header and legacy paths", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { messages_vendor: "acme" }),
  );
  const init = askWith("2023-06-01", "acme-version");
  for (const path of ["/v1/messages", "/api/acme/v1/messages"]) {
    const response = await gateway.call(path, init);
    await response.body?.cancel();
    assert.equal(response.status, 200);
  }
  const renamed = await gateway.call("/v1/messages", askWith("2023-06-01"));
  assert.match(
    (await readError(renamed, "messages")).message,
    /acme-version/,
  );
  const gone = await gateway.call("/api/anthropic/v1/messages", init);
  assert.equal((await readError(gone, "messages")).status, 404);
});

const UPGRADE = "upgrade: websocket\r\nsec-websocket-version: 13\r\n" +
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

Deno.test("a WebSocket upgrade of /responses is 426, with and without a credential", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const path of ["/v1/responses", "/api/v1/responses"]) {
    for (const credential of ["", "authorization: Bearer mg_alice\r\n"]) {
      await t.step(`${path} ${credential}`, async () => {
        const answer = await sendRaw(
          gateway.port,
          `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, close\r\n` +
            `${UPGRADE}${credential}\r\n`,
        );
        const error = errorAnswer(answer, "responses");
        assert.equal(error.status, 426);
        assert.equal(error.code, "websocket_not_supported");
      });
    }
  }
});

Deno.test("a GET of /responses without an upgrade, or with another one, is 405", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const upgrade of ["", "upgrade: h2c\r\n"]) {
    await t.step(upgrade, async () => {
      const answer = await sendRaw(
        gateway.port,
        `GET /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${upgrade}\r\n`,
      );
      assert.equal(errorAnswer(answer, "responses").status, 405);
      assert.equal(answer.headers.get("allow"), "POST");
    });
  }
});

Deno.test("no request goes to an address that a caller names: the upstream is always the configured one", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const host = new URL(elsewhere.url).host;
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const body = hello(protocol, {
        api_base: elsewhere.url,
        base_url: elsewhere.url,
        custom_host: elsewhere.url,
      });
      const headers = {
        "x-forwarded-host": host,
        "x-original-url": elsewhere.url,
        forwarded: `host=${host}`,
      };
      const answer = await gateway.call(
        PATHS[protocol],
        ask(protocol, body, headers),
      );
      assert.equal(answer.status, 200, await answer.text());
      await upstream.requests.next();
      assert.equal(elsewhere.requests.items.length, 0);
    });
  }
});

Deno.test("a picture's address is forwarded unchanged and never fetched", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  const url = `${elsewhere.url}/picture.png`;
  const messages = [{
    role: "user",
    content: [{ type: "image_url", image_url: { url } }],
  }];
  for (const model of ["model-a", "model-b", "model-c"]) {
    await t.step(model, async () => {
      const body = hello("chat", { model, messages });
      const answer = await gateway.call(PATHS.chat, ask("chat", body));
      await answer.body?.cancel();
      assert.ok((await upstream.requests.next()).text().includes(url));
      assert.equal(elsewhere.requests.items.length, 0);
    });
  }
});

Deno.test("tokens with the same first 20 or 64 characters are different callers", async (t) => {
  await using upstream = startUpstream();
  for (const shared of [20, 64]) {
    await t.step(String(shared), async () => {
      const names = ["one", "two"];
      const tokens = names.map((name) => `${"x".repeat(shared)}${name}`);
      await using gateway = await startGateway(familiesFile(upstream.url, {
        tokens: tokens.map((token, index) =>
          tokenFile({ name: names[index], sha256: sha256Hex(token) })
        ),
      }));
      const call = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await gateway.call(
          PATHS.chat,
          ask("chat", hello("chat"), headers),
        );
        await answer.body?.cancel();
        return answer;
      };
      for (const [index, token] of tokens.entries()) {
        const line = await gateway.lines.of(await call(token));
        assert.equal(line.token, names[index]);
      }
      assert.equal((await call("x".repeat(shared))).status, 401);
    });
  }
});
