import assert from "node:assert/strict";
import { ask, credentials, hello, PATHS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { readExposition, sumOf } from "../../support/gateway/exposition.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { until } from "../../support/within.ts";

const PROMPT = "canary-of-the-prompt";
const ANSWER = "canary-of-the-answer";

const CHAT_ANSWER = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "model-a",
  choices: [{
    index: 0,
    message: { role: "assistant", content: ANSWER },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

Deno.test("serve counts requests on a second listener, without any secret, prompt or text of a caller", async (t) => {
  await using upstream = startUpstream(() => Response.json(CHAT_ANSWER));
  const server = { port: 0, admin: { port: 0 } };
  const defaults = { limits: [{ window: "month", tokens: 40 }] };
  await using gateway = await serveFile(
    familiesFile(upstream.url, { server, defaults }),
  );
  const scrape = async () => {
    const { status, text } = await askOnce(`${gateway.adminUrl}/metrics`);
    assert.equal(status, 200);
    return text;
  };
  const left = async () =>
    sumOf(readExposition(await scrape()), "model_gateway_limit_remaining", {
      scope: "token",
      name: "alice",
      limit: "tokens month",
    });
  assert.equal(await left(), 40);

  await t.step("requests", async () => {
    const url = gateway.url + PATHS.chat;
    const body = hello("chat", {
      messages: [{ role: "user", content: PROMPT }],
    });
    const named = ask("chat", body, { "session-id": "canary-of-a-session" });
    assert.equal((await askOnce(url, named)).status, 200);
    const unknown = hello("chat", { model: "canary-of-a-model" });
    assert.equal((await askOnce(url, ask("chat", unknown))).status, 404);
    const stranger = ask("chat", body, {
      authorization: "Bearer canary-of-a-token",
    });
    assert.equal((await askOnce(url, stranger)).status, 401);
    const nowhere = `${gateway.url}/canary-of-a-path`;
    assert.equal((await askOnce(nowhere)).status, 404);
    const limits = { headers: credentials("chat") };
    assert.equal(
      (await askOnce(`${gateway.url}/v1/limits`, limits)).status,
      200,
    );
    const ended = async () =>
      sumOf(readExposition(await scrape()), "model_gateway_requests_total");
    await until(async () => await ended() === 5, "five counted requests");
  });

  await t.step("requests, bytes and tokens by label", async () => {
    const samples = readExposition(await scrape());
    const requests = (labels: Record<string, string>) =>
      sumOf(samples, "model_gateway_requests_total", labels);
    const route = "/v1/chat/completions";
    const protocol = "chat";
    assert.equal(
      requests({ route, protocol, mode: "native", status: "2xx" }),
      1,
    );
    assert.equal(requests({ route, status: "4xx", ended: "error" }), 2);
    assert.equal(requests({ route: "none", status: "4xx" }), 1);
    const own = { route: "/v1/limits" };
    assert.equal(requests({ ...own, protocol: "none", mode: "none" }), 1);
    const bytes = "model_gateway_answer_body_bytes_total";
    assert.ok(sumOf(samples, bytes, own) > 0);
    assert.ok(sumOf(samples, bytes, { route: "none" }) > 0);
    const labels = { connection: "Family A", model: "model-a" };
    const tokens = (kind: string) =>
      sumOf(samples, "model_gateway_tokens_total", { ...labels, kind });
    assert.deepEqual([tokens("input"), tokens("output")], [7, 3]);
    const caller = { token: "alice", kind: "output" };
    assert.equal(
      sumOf(samples, "model_gateway_caller_tokens_total", caller),
      3,
    );
    assert.equal(sumOf(samples, "model_gateway_workers"), 1);
    assert.equal(sumOf(samples, "model_gateway_requests_in_flight"), 0);
    assert.ok(sumOf(samples, "process_resident_memory_bytes") > 1e6);
  });

  await t.step("the remainder of a limit", async () => {
    await until(async () => await left() === 30, "ten used tokens");
  });

  await t.step("secrets", async () => {
    const text = await scrape();
    await until(
      () => gateway.output().includes("canary-of-a-model"),
      "the log line that names the model",
    );
    for (const secret of [ALICE_TOKEN, UPSTREAM_KEY, "canary"]) {
      assert.ok(!text.includes(secret), secret);
    }
  });

  await t.step("event loop", async () => {
    const lag = "model_gateway_event_loop_lag_seconds_count";
    await until(
      async () => sumOf(readExposition(await scrape()), lag) > 0,
      "a measured lag",
    );
  });

  await t.step("health", async () => {
    for (const path of ["/livez", "/readyz"]) {
      assert.equal((await askOnce(gateway.adminUrl + path)).status, 200);
    }
    assert.equal((await askOnce(`${gateway.url}/metrics`)).status, 404);
  });

  gateway.kill("SIGTERM");
  assert.equal((await gateway.ended).code, 0);
});

const CHUNKS = ["Hello", " you", " there"].map((content) =>
  sseBytes({ choices: [{ index: 0, delta: { content } }] })
);

Deno.test("the gaps between the chunks of streamed answers are counted, natively and translated", async () => {
  await using upstream = startUpstream();
  const server = { port: 0, admin: { port: 0 } };
  const connection = familyConnection("A", upstream.url, {
    endpoints: { chat: `${upstream.url}/a` },
  });
  await using gateway = await serveFile(
    minimalFile({ connections: [connection], server }),
  );
  const count = async (model: string) => {
    const { text } = await askOnce(`${gateway.adminUrl}/metrics`);
    const name = "model_gateway_chunk_gap_seconds_count";
    return sumOf(readExposition(text), name, { model });
  };
  const cases = [
    { protocol: "chat", model: "model-a" },
    { protocol: "messages", model: "renamed-a" },
  ] as const;
  for (const { protocol, model } of cases) {
    const source = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>();
    upstream.play(() =>
      new Response(source.readable, {
        headers: { "content-type": "text/event-stream" },
      })
    );
    const body = hello(protocol, { model, stream: true });
    const asked = fetch(gateway.url + PATHS[protocol], ask(protocol, body));
    const writer = source.writable.getWriter();
    let said = "";
    let reader: ReadableStreamDefaultReader<string> | undefined;
    for (const [index, word] of ["Hello", " you", " there"].entries()) {
      await writer.write(CHUNKS[index]);
      reader ??= (await asked).body?.pipeThrough(new TextDecoderStream())
        .getReader();
      // Chunks that arrive together would count as one.
      while (!said.includes(word)) said += (await reader?.read())?.value;
    }
    await writer.write(sseBytes("[DONE]"));
    await writer.close();
    while (!(await reader?.read())?.done);
    await until(async () => await count(model) >= 3, "three gaps");
  }
});

Deno.test("serve does not start when the port of its second listener is taken, and names the setting", async () => {
  await using taken = startUpstream();
  const port = Number(new URL(taken.url).port);
  const file = familiesFile(taken.url, {
    server: { port: 0, admin: { port } },
  });
  await assert.rejects(serveFile(file), /server\.admin\.port/);
});

Deno.test("two replicas run from one file, each with metrics at an offset from its own port", async () => {
  const port_offset = 1;
  // No other test listens on this address, so the next port is free.
  const host = Deno.build.os === "linux" ? "127.0.0.2" : "127.0.0.1";
  const file = familiesFile("http://127.0.0.1:9", {
    server: { port: 0, admin: { host, port_offset } },
  });
  await using first = await serveFile(file);
  await using second = await serveFile(file);
  for (const { url, adminUrl } of [first, second]) {
    const port = (of: string) => Number(new URL(of).port);
    assert.equal(port(adminUrl), port(url) + port_offset);
    assert.equal((await askOnce(`${adminUrl}/metrics`)).status, 200);
  }
});

Deno.test("serve does not start when the offset leaves no port for its second listener", async () => {
  const port_offset = 40_000;
  const file = familiesFile("http://127.0.0.1:9", {
    server: { port: 8787, admin: { port_offset } },
  });
  await assert.rejects(
    serveFile(file, { options: ["--port", "0"] }),
    /Cannot listen on port \d+: the largest port is 65535\. Choose a smaller server\.admin\.port_offset\./,
  );
});
