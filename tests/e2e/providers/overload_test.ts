import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { type OpenAnswer, openAnswer } from "../../support/wire/answers.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
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

const BOB_TOKEN = "mg_bob";

const BOB = tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) });

/** Starts an upstream whose answers stay open until the test ends them. */
function startOpenUpstream() {
  const answers: OpenAnswer[] = [];
  const upstream = startUpstream(() => {
    const answer = openAnswer();
    // While another connection could serve, a stream is held back until its first output.
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
  return await gateway.call(
    PATHS.chat,
    ask("chat", hello("chat", { model }), headers),
  );
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
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const response = await gateway.call(PATHS[protocol], ask(protocol));
      const error = await readError(response, protocol);
      assert.equal(error.status, 429);
      assert.equal(error.type, "rate_limit_error");
      assert.equal(error.headers.get("retry-after"), "1");
    });
  }
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
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const response = await gateway.call(PATHS[protocol], ask(protocol));
      const error = await readError(response, protocol);
      assert.equal(error.status, 503);
      assert.equal(error.type, "overloaded_error");
      assert.equal(error.headers.get("retry-after"), "1");
    });
  }
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

Deno.test("a full connection is 503 unless another one has the model", async (t) => {
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
  for (const [name, script] of Object.entries(endings)) {
    await t.step(name, async () => {
      upstream.play(script);
      const response = await askAs(ALICE_TOKEN, gateway);
      await response.bytes();
      assert.notEqual(response.status, 503);
      assert.equal(gateway.admission.active, 0);
    });
  }
  await t.step("a refused body", async () => {
    const response = await gateway.call(PATHS.chat, ask("chat", "no JSON"));
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
