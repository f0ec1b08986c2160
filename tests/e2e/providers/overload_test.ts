import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { type OpenAnswer, openAnswer } from "../../support/wire/answers.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until } from "../../support/within.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import {
  readSome,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { steps } from "../../support/steps.ts";

const BOB_TOKEN = "mg_bob";

const BOB = tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) });

/** Starts an upstream whose answers stay open until the test ends them. */
function startOpenUpstream() {
  const answers: OpenAnswer[] = [];
  const upstream = startUpstream(() => {
    const answer = openAnswer();
    // A stream is held back until its first output while another connection could serve.
    answer.write(`data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n`);
    answers.push(answer);
    return answer.response;
  });
  return { upstream, answers };
}

async function askAs(
  token: string,
  gateway: RunningGateway,
  model = "model-a",
): Promise<Response> {
  const headers = credentials("chat", token);
  return await gateway.ask("chat", hello("chat", { model }), headers);
}

/** Ends an answer and waits until its slot is free. */
async function finish(
  running: Response,
  answer: OpenAnswer | undefined,
  gateway: RunningGateway,
): Promise<void> {
  answer?.close();
  await running.body?.cancel();
  await until(() => gateway.admission.active === 0, "the slot to be free");
}

Deno.test("a token at its own limit gets 429 in each protocol, and others are served", async (t) => {
  const { upstream, answers } = startOpenUpstream();
  await using _ = upstream;
  await using gateway = await startGateway(
    familiesFile(upstream.url, {
      tokens: [tokenFile({ max_concurrent: 1 }), BOB],
    }),
  );
  const running = await askAs(ALICE_TOKEN, gateway);
  assert.equal(running.status, 200);
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    const error = await readError(response, protocol);
    assert.equal(error.status, 429);
    assert.equal(error.type, "rate_limit_error");
    assert.equal(error.headers.get("retry-after"), "1");
  });
  await t.step("another token is served", async () => {
    const other = await askAs(BOB_TOKEN, gateway);
    assert.equal(other.status, 200);
    answers[1]?.close();
    await other.body?.cancel();
  });
  await t.step(
    "the token is served again when its request has ended",
    async () => {
      await finish(running, answers[0], gateway);
      const again = await askAs(ALICE_TOKEN, gateway);
      assert.equal(again.status, 200);
      await finish(again, answers.at(-1), gateway);
    },
  );
});

Deno.test("a full gateway is 503 with Retry-After in each protocol", async (t) => {
  const { upstream, answers } = startOpenUpstream();
  await using _ = upstream;
  await using gateway = await startGateway(
    familiesFile(upstream.url, {
      server: { max_concurrent_requests: 2 },
      tokens: [tokenFile({ max_concurrent: 3 })],
    }),
  );
  const running = [
    await askAs(ALICE_TOKEN, gateway),
    await askAs(ALICE_TOKEN, gateway),
  ];
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    const error = await readError(response, protocol);
    assert.equal(error.status, 503);
    assert.equal(error.type, "overloaded_error");
    assert.equal(error.headers.get("retry-after"), "1");
  });
  await t.step("requests that call no model are still served", async () => {
    const models = await gateway.call("/v1/models", {
      headers: credentials("chat"),
    });
    assert.equal(models.status, 200);
    await models.body?.cancel();
    const ready = await gateway.call("/readyz");
    assert.equal(ready.status, 200);
    await ready.body?.cancel();
  });
  answers.forEach((answer) => answer.close());
  for (const one of running) await one.body?.cancel();
});

Deno.test("a full connection is 503 unless another connection has the model", async (t) => {
  const { upstream, answers } = startOpenUpstream();
  await using _ = upstream;
  const models = ["single", "pooled"];
  await using gateway = await startGateway({
    connections: [
      familyConnection("A", upstream.url, {
        name: "first",
        max_concurrent: 1,
        models,
      }),
      familyConnection("A", upstream.url, {
        name: "second",
        models: ["pooled"],
      }),
    ],
    tokens: [tokenFile()],
  });
  const running = await askAs(ALICE_TOKEN, gateway, "pooled");
  await t.step("alone", async () => {
    const response = await askAs(ALICE_TOKEN, gateway, "single");
    const error = await readError(response, "chat");
    assert.equal(error.status, 503);
    assert.equal(error.type, "overloaded_error");
    assert.equal(error.headers.get("retry-after"), "1");
  });
  await t.step("in a pool", async () => {
    const response = await askAs(ALICE_TOKEN, gateway, "pooled");
    assert.equal(response.status, 200);
    answers[1]?.close();
    await response.body?.cancel();
    assert.equal((await gateway.lines.of(response)).connection, "second");
  });
  await finish(running, answers[0], gateway);
  const again = await askAs(ALICE_TOKEN, gateway, "single");
  assert.equal(again.status, 200);
  await finish(again, answers.at(-1), gateway);
});

Deno.test("any ending of a request frees its slot", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { server: { max_concurrent_requests: 1 } }),
    { timers: hurriedTimers },
  );
  const endings: Readonly<Record<string, () => Response>> = {
    "an answer": () => Response.json({}),
    "an empty answer": () => new Response(null, { status: 204 }),
    "an error of the upstream": () => Response.json({}, { status: 500 }),
    "a refusal of the gateway's key": () => Response.json({}, { status: 401 }),
    "a redirect": () => Response.redirect("http://evil.example"),
  };
  await steps(t, Object.entries(endings), async ([, script]) => {
    upstream.play(script);
    const response = await askAs(ALICE_TOKEN, gateway);
    await response.bytes();
    assert.notEqual(response.status, 503);
    assert.equal(gateway.admission.active, 0);
  });
  await t.step("a rejected body", async () => {
    const response = await gateway.ask("chat", "no JSON");
    await response.bytes();
    assert.equal(gateway.admission.active, 0);
  });
  await t.step("a stream that the upstream cuts", async () => {
    const answer = openAnswer();
    upstream.play(() => answer.response);
    const response = await askAs(ALICE_TOKEN, gateway);
    answer.cut();
    await assert.rejects(response.bytes());
    await until(() => gateway.admission.active === 0, "the slot to be free");
  });
});

const MIB = 1024 * 1024;

const REFUSAL = JSON.stringify({
  error: { message: "Too long for this one", type: "invalid_request_error" },
});

/** A response after which the provider closes the connection at once, without reading the rest of the request. */
const ANSWER =
  `HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`;

/** A text far longer than the buffers of sockets. */
const LONG = "x".repeat(6 * MIB);

/** The outcome depends on the faster side, so several requests are sent. */
const REQUESTS = 12;

/** The part of a request that the provider reads before it responds, in bytes. */
const READ_BYTES: Readonly<Record<string, number>> = {
  "its headers": 0,
  "the beginning of its body": MIB,
};

const CERTIFICATE = fromFileUrl(
  new URL("../../fixtures/tls/cert.pem", import.meta.url),
);

Deno.test("a response that arrives before the whole request is sent is forwarded", async (t) => {
  let readBytes = 0;
  const talk = async (connection: Deno.Conn) => {
    await readSome(connection, readBytes);
    await say(connection, ANSWER);
  };
  await using plain = startRawUpstream(talk);
  await using secure = startRawUpstream(talk, testCertificate);
  const connections = [
    familyConnection("A", plain.url),
    familyConnection("B", plain.url),
    familyConnection("A", secure.url, { name: "TLS", models: ["tls"] }),
  ];
  await using gateway = await serveFile(
    minimalFile({ server: { port: 0 }, connections }),
    { env: { DENO_CERT: CERTIFICATE } },
  );
  const sendAll = async (model: string, content: string, count: number) => {
    const body = hello("chat", {
      model,
      messages: [{ role: "user", content }],
    });
    for (let sent = 0; sent < count; sent++) {
      const url = gateway.url + PATHS.chat;
      const { status, text } = await askOnce(url, ask("chat", body));
      assert.equal(status, 413, text);
      assert.match(text, /Too long for this one/);
    }
  };
  const repeated = () =>
    gateway.lines("request").filter(({ attempts }) => attempts !== undefined)
      .length;
  for (const [what, bytes] of Object.entries(READ_BYTES)) {
    await t.step(`after ${what}`, async () => {
      const before = repeated();
      readBytes = bytes;
      await sendAll("model-a", LONG, REQUESTS);
      await sendAll("model-b", LONG, REQUESTS);
      // The system may reset the connection between the response's head and its body. The gateway then retries.
      const again = repeated() - before;
      assert.ok(again <= REQUESTS / 4, `${again} asked again`);
    });
    await t.step(`over TLS after ${what}`, async () => {
      readBytes = bytes;
      await sendAll("tls", LONG, 4);
    });
  }
  // Short enough that the platform accepts the rest at once, but long enough that it may not send it at once.
  for (const kib of [384, 250]) {
    for (const model of ["model-a", "tls"]) {
      await t.step(`during the last of ${kib} KiB to ${model}`, async () => {
        readBytes = MIB / 8;
        await sendAll(model, LONG.slice(0, kib * 1024), 40);
      });
    }
  }
});
