import assert from "node:assert/strict";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import {
  readSome,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";

const MIB = 1024 * 1024;

const REFUSAL = JSON.stringify({
  error: { message: "Too long for this one", type: "invalid_request_error" },
});

/** A response after which the connection is closed at once, with the rest of the request unread. */
const ANSWER =
  `HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`;

/** Far longer than the buffers of sockets. */
const LONG = "x".repeat(6 * MIB);

/** The outcome depends on the faster side, so several requests are sent. */
const REQUESTS = 12;

/** The part of a request that the provider reads before it responds, in bytes. */
const READ_BYTES: Readonly<Record<string, number>> = {
  "its headers": 0,
  "the beginning of its body": MIB,
};

for (const [what, bytes] of Object.entries(READ_BYTES)) {
  Deno.test(`an answer that arrives after ${what}, before the request is sent, is forwarded`, async (t) => {
    await using upstream = startRawUpstream(async (connection) => {
      await readSome(connection, bytes);
      await say(connection, ANSWER);
    });
    await using gateway = await serveFile(
      familiesFile(upstream.url, { server: { port: 0 } }),
    );
    for (
      const [mode, model] of [["native", "model-a"], ["translated", "model-b"]]
    ) {
      await t.step(`${mode}`, async () => {
        const body = hello("chat", {
          model: model ?? "",
          messages: [{ role: "user", content: LONG }],
        });
        for (let count = 0; count < REQUESTS; count++) {
          const { status, text } = await askOnce(
            gateway.url + PATHS.chat,
            ask("chat", body),
          );
          assert.equal(status, 413, text);
          assert.match(text, /Too long for this one/);
        }
      });
    }
    // The system may reset the connection between the response's head and its body. The gateway
    // then retries.
    const again = gateway.lines("request")
      .filter(({ attempts }) => attempts !== undefined);
    assert.ok(again.length <= REQUESTS / 4, `${again.length} asked again`);
  });
}

const CERTIFICATE = fromFileUrl(
  new URL("../../fixtures/tls/cert.pem", import.meta.url),
);

for (const [what, bytes] of Object.entries(READ_BYTES)) {
  Deno.test(`an answer that arrives over TLS after ${what}, before the request is sent, is forwarded`, async () => {
    await using upstream = startRawUpstream(async (connection) => {
      await readSome(connection, bytes);
      await say(connection, ANSWER);
    }, testCertificate);
    await using gateway = await serveFile(
      familiesFile(upstream.url, { server: { port: 0 } }),
      { env: { DENO_CERT: CERTIFICATE } },
    );
    const body = hello("chat", { messages: [{ role: "user", content: LONG }] });
    for (let count = 0; count < 4; count++) {
      const url = gateway.url + PATHS.chat;
      const { status, text } = await askOnce(url, ask("chat", body));
      assert.equal(status, 413, text);
    }
  });
}

/**
 * Each is so short that the platform accepts the rest at once, and so long that it may not send it
 * at once.
 */
const LAST_OF_BODY: readonly {
  readonly scheme: string;
  readonly kib: number;
}[] = ["HTTP", "TLS"].flatMap((scheme) =>
  [384, 250].map((kib) => ({ scheme, kib }))
);

for (const { scheme, kib } of LAST_OF_BODY) {
  Deno.test(`an answer that arrives over ${scheme} while the last of ${kib} KiB is being sent is forwarded`, async () => {
    await using upstream = startRawUpstream(async (connection) => {
      await readSome(connection, MIB / 8);
      await say(connection, ANSWER);
    }, scheme === "TLS" ? testCertificate : undefined);
    await using gateway = await serveFile(
      familiesFile(upstream.url, { server: { port: 0 } }),
      { env: { DENO_CERT: CERTIFICATE } },
    );
    const content = LONG.slice(0, kib * 1024);
    const body = hello("chat", { messages: [{ role: "user", content }] });
    for (let count = 0; count < 40; count++) {
      const url = gateway.url + PATHS.chat;
      const { status, text } = await askOnce(url, ask("chat", body));
      assert.equal(status, 413, text);
    }
  });
}
