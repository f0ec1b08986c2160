import assert from "node:assert/strict";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import { createAlertSender } from "../../../src/gateway/usage/alert_sender.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";

/** A receiver's answer: a status, a whole response or none. */
type Answer = number | (() => Promise<Response>);

/** Opens a sender with a receiver that gives these answers, then 200. */
async function open(...answers: readonly Answer[]) {
  const config = await minimalConfig({
    alerts: {
      webhook: "https://chat.example/secret-path?secret-query",
      headers: { "X-Key": "secret-value" },
    },
  });
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const requests: Request[] = [];
  const client = createFetchClient((url, init) => {
    const status = answers[requests.length] ?? 200;
    requests.push(new Request(url, init));
    if (typeof status !== "number") return status();
    return Promise.resolve(
      new Response(null, {
        status,
        headers: { location: "https://b.example" },
      }),
    );
  });
  const sender = createAlertSender({
    ...{ client, log, liveConfig: createLiveConfig(config) },
    deadlines: createDeadlines(timers),
  });
  return { sender, timers, log, requests };
}

Deno.test("an alert is a POST of JSON with the receiver's headers", async () => {
  const { sender, requests, log } = await open();
  sender.send({ text: "a" });
  await sender.drain();
  const [request, ...more] = requests;
  assert.ok(request !== undefined && more.length === 0);
  assert.equal(request.method, "POST");
  assert.equal(request.redirect, "manual");
  assert.equal(request.headers.get("x-key"), "secret-value");
  assert.deepEqual(await request.json(), { text: "a" });
  assert.deepEqual(log.entries, []);
});

Deno.test("a redirect or a refusal is final, and the log hides the receiver's secrets", async () => {
  for (const status of [302, 401, 404]) {
    const { sender, requests, log } = await open(status);
    sender.send({ text: "a" });
    await settle();
    assert.equal(requests.length, 1, `${status}`);
    assert.deepEqual(log.entries.map(({ event, fields }) => [event, fields]), [
      ["alert_lost", { reason: `chat.example answered with ${status}` }],
    ]);
  }
});

Deno.test("a drain sends waiting alerts once more, then ends", async () => {
  const { sender, requests, log } = await open(503, 503, 200);
  sender.send({ text: "a" });
  sender.send({ text: "b" });
  await settle();
  assert.equal(requests.length, 1);
  await sender.drain();
  assert.equal(requests.length, 3);
  assert.equal(log.entries.length, 1, "the first is lost");
});

Deno.test("the newest of too many alerts are lost and logged", async () => {
  const { sender, requests, log } = await open();
  for (let count = 0; count < 103; count++) {
    sender.send({ name: `${count % 10}`, text: `${count}` });
  }
  await sender.drain();
  assert.equal(requests.length, 100);
  const lost = log.entries.map(({ fields }) => fields.reason);
  assert.deepEqual(lost, Array(3).fill("100 alerts wait already"));
});

Deno.test("a failing, silent or endless receiver gets a limited number of attempts, and its URL is not logged", async () => {
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull: (body) => body.enqueue(new Uint8Array(64 * 1024)),
    });
  const receivers: Readonly<Record<string, () => Promise<Response>>> = {
    "cannot be reached": () =>
      Promise.reject(
        new TypeError("https://chat.example/secret-path?secret-query"),
      ),
    "did not answer within 10 s": () =>
      Promise.withResolvers<Response>().promise,
    "answered with 500": () =>
      Promise.resolve(new Response(endless(), { status: 500 })),
    "answered with 429": () =>
      Promise.resolve(new Response("secret-value", { status: 429 })),
  };
  for (const [reason, answer] of Object.entries(receivers)) {
    const { sender, timers, requests, log } = await open(
      ...Array(9).fill(answer),
    );
    sender.send({ text: "a" });
    for (let count = 0; count < 60; count++) {
      await settle();
      timers.advance(5000);
    }
    await settle();
    assert.equal(requests.length, 5, reason);
    assert.deepEqual(log.entries.map(({ event, fields }) => [event, fields]), [
      ["alert_lost", { reason: `chat.example ${reason}` }],
    ]);
    assert.ok(!JSON.stringify(log.entries).includes("secret"));
    assert.equal(timers.running, 0);
  }
});

Deno.test("an accepted alert is done even if the response's body has no end", async () => {
  const { sender, requests, log } = await open(() =>
    Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (body) => body.enqueue(new Uint8Array(64 * 1024)),
        }),
      ),
    )
  );
  sender.send({ text: "a" });
  sender.send({ text: "b" });
  await sender.drain();
  assert.equal(requests.length, 2);
  assert.deepEqual(log.entries, []);
});

Deno.test("a receiver's Retry-After is obeyed up to five minutes", async () => {
  const busy = (wait: string) => () =>
    Promise.resolve(
      new Response(null, { status: 429, headers: { "retry-after": wait } }),
    );
  const { sender, timers, requests } = await open(busy("30"), busy("86400"));
  sender.send({ text: "a" });
  await settle();
  timers.advance(29_000);
  await settle();
  assert.equal(requests.length, 1);
  timers.advance(1000);
  await settle();
  assert.equal(requests.length, 2);
  timers.advance(299_000);
  await settle();
  assert.equal(requests.length, 2);
  timers.advance(1000);
  await settle();
  assert.equal(requests.length, 3);
});

Deno.test("many alerts of one caller do not displace other callers' alerts", async () => {
  const { sender, requests, log } = await open();
  for (let count = 0; count < 100; count++) {
    sender.send({ name: "mallory", text: `${count}` });
  }
  sender.send({ name: "alice", text: "of alice" });
  await sender.drain();
  assert.equal(requests.length, 21);
  assert.deepEqual(await requests.at(-1)?.json(), {
    name: "alice",
    text: "of alice",
  });
  assert.equal(log.entries.length, 80);
});
