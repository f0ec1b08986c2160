import assert from "node:assert/strict";
import {
  describedFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";

const WEBHOOK = "https://chat.example/secret-path?secret-query";

Deno.test("alerts have defaults, and check hides the receiver's secrets", async () => {
  const alerts = { webhook: WEBHOOK, headers: { "X-Key": "secret-value" } };
  const config = await minimalConfig({ alerts });
  assert.deepEqual(config.alerts, {
    webhook: WEBHOOK,
    headers: { "x-key": "secret-value" },
    at: [80, 90, 100],
  });
  const text = await describedFile({ alerts });
  assert.match(text, /alerts:\n +webhook: '?https:\/\/chat.example'?\n/);
  assert.doesNotMatch(text, /secret/);
  const other = await minimalConfig({
    alerts: { webhook: WEBHOOK, at: [90, 50, 90] },
  });
  assert.deepEqual(other.alerts?.at, [50, 90]);
});

Deno.test("a receiver in the gateway's own network is allowed, with a warning if it lacks TLS", async () => {
  const warnings = async (webhook: string) =>
    warningsOf(await loadFile(minimalFile({ alerts: { webhook } })));
  assert.deepEqual(await warnings("https://10.0.0.7/hook"), []);
  assert.deepEqual(await warnings("http://127.0.0.1:8065/hook"), []);
  const [warning, ...more] = await warnings("http://10.0.0.7/hook");
  assert.match(warning ?? "", /^alerts.webhook: reaches another machine/);
  assert.deepEqual(more, []);
});

const PROBLEMS: readonly (readonly [string, Record<string, unknown>])[] = [
  ["alerts.webhook: is missing", { at: [80] }],
  ["alerts.webhook: must be a URL with https: or http:", { webhook: "chat" }],
  ["alerts.webhook: must be a URL", { webhook: "https://a:b@c.example" }],
  ["alerts.at: must not be empty.", { webhook: WEBHOOK, at: [] }],
  ["alerts.at[0]: must be at most 100", { webhook: WEBHOOK, at: [120] }],
  ["alerts.hook: is not a known key", { webhook: WEBHOOK, hook: 1 }],
];

Deno.test("a receiver that cannot get alerts is a problem, and the problem shows no secret", async (t) => {
  await steps(t, PROBLEMS, async ([wanted, alerts]) => {
    const problems = problemsOf(await loadFile(minimalFile({ alerts })));
    assert.ok(problems.some((one) => one.startsWith(wanted)), problems.join());
    assert.doesNotMatch(problems.join(), /secret/);
  });
});
