import assert from "node:assert/strict";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import { createAlertSender } from "../../../src/gateway/usage/alert_sender.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";

/** A sender whose receiver answers with these statuses, then with 200. */
async function open(...statuses: readonly number[]) {
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
    const status = statuses[requests.length] ?? 200;
    requests.push(new Request(url, init));
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

Deno.test("a redirect or a refusal is final, and the log has no secret of the receiver", async () => {
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

Deno.test("a drain tries what waits once more and then ends", async () => {
  const { sender, requests, log } = await open(503, 503, 200);
  sender.send({ text: "a" });
  sender.send({ text: "b" });
  await settle();
  assert.equal(requests.length, 1);
  await sender.drain();
  assert.equal(requests.length, 3);
  assert.equal(log.entries.length, 1, "the first is lost");
});

Deno.test("of too many alerts the newest are lost, and named", async () => {
  const { sender, requests, log } = await open();
  for (let count = 0; count < 103; count++) sender.send({ text: `${count}` });
  await sender.drain();
  assert.equal(requests.length, 100);
  const lost = log.entries.map(({ fields }) => fields.reason);
  assert.deepEqual(lost, Array(3).fill("100 alerts wait already"));
});
