import assert from "node:assert/strict";
import { hello, PATHS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { rawRequest } from "../../support/wire/raw_request.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import { loadClientRequests } from "../../support/recorded/recordings.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

/** Headers that the gateway itself sends upstream. */
const OWN = ["host", "content-length", "accept-encoding", "authorization"];

/** Headers that the network client adds if the caller does not send them. */
const DEFAULTS = ["accept", "user-agent"];

/** Headers of clients that upstreams obey. */
const PASSED = {
  "accept": "text/event-stream",
  "content-type": "application/json",
  "user-agent": "codex_exec/0.169.0 (Debian 12.0.0; x86_64) dumb",
  "anthropic-beta": "claude-code-20250219,context-management-2025-06-27",
  "anthropic-dangerous-direct-browser-access": "true",
  "anthropic-version": "2023-06-01",
  "openai-beta": "responses=experimental",
  "originator": "codex_exec",
  "session-id": "01a1f972-3c2b-71e0-a18f-64f184259895",
  "idempotency-key": "stainless-node-retry-1",
  "x-app": "cli",
  "x-claude-code-session-id": "19ac82bf-3376-449b-824d-92c51abdb30c",
  "x-codex-turn-metadata": `{"agent_name":"/root"}`,
  "x-codex-turn-state": "ts-123",
  "x-request-id": "the caller's own",
  "x-session-affinity": "ses_1",
  "x-stainless-lang": "js",
  "x-stainless-timeout": "600",
  "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "x-unheard-of": "1, 2;q=0.5",
};

/** Headers of agents, SDKs and editors about a session, or with options for a provider. */
const AGENTS = {
  "copilot-integration-id": "vscode-chat",
  "editor-version": "vscode/1.99.0",
  "http-referer": "https://opencode.ai/",
  "openai-intent": "conversation-edits",
  "session_id": "01a1f972",
  "thread-id": "01a1f972",
  "version": "0.169.0",
  "x-client-request-id": "01a1f972",
  "x-codex-beta-features": "remote_compaction_v2",
  "x-codex-routing-hint": "1",
  "x-codex-window-id": "w:0",
  "x-dashscope-cachecontrol": "enable",
  "x-goog-api-client": "gl-node/22",
  "x-grok-conv-id": "c1",
  "x-initiator": "agent",
  "x-msh-platform": "kimi_cli",
  "x-openai-internal-codex-responses-lite": "true",
  "x-openrouter-title": "an app",
  "x-session-id": "ses_1",
  "x-title": "an app",
};

/** Headers about the identity or place of the caller, or about its own connection. */
const WITHHELD = {
  "authorization": `Bearer ${ALICE_TOKEN}`,
  "x-api-key": ALICE_TOKEN,
  "api-key": ALICE_TOKEN,
  "x-goog-api-key": ALICE_TOKEN,
  "proxy-authorization": `Basic ${ALICE_TOKEN}`,
  "cookie": `session=${ALICE_TOKEN}`,
  "forwarded": "for=192.0.2.1",
  "x-forwarded-for": "192.0.2.1",
  "x-forwarded-host": "evil.example",
  "x-forwarded-proto": "https",
  "x-forwarded-unheard-of": "1",
  "x-real-ip": "192.0.2.1",
  "openai-organization": "org-1",
  "openai-project": "proj-1",
  ...Object.fromEntries(
    [
      ...["via", "true-client-ip", "x-client-ip", "cf-connecting-ip"],
      ...["cf-ray", "cf-ipcountry", "cf-aig-authorization", "fastly-client-ip"],
      ...["x-cluster-client-ip", "x-envoy-external-address", "cdn-loop"],
      ...["x-azure-clientip", "x-original-host", "x-amzn-trace-id"],
      ...[
        "x-amz-cf-id",
        "x-vercel-forwarded-for",
        "x-forwarded",
        "remote-user",
      ],
      ...["x-appengine-user-ip", "x-goog-iap-jwt-assertion"],
      ...["chatgpt-account-id", "bigmodel-organization", "bigmodel-project"],
      ...["anthropic-user-profile-id", "anthropic-workspace-id", "appid"],
      ...["anthropic-organization-id", "x-organization-uuid", "x-team-id"],
      ...["x-goog-quota-user", "x-hf-bill-to", "x-dashscope-workspace"],
      ...["x-goog-user-project", "x-http-method", "x-http-method-override"],
      ...["x-method-override", "x-original-url", "x-rewrite-url"],
      ...["helicone-auth", "helicone-target-url", "x-portkey-config"],
      ...["x-portkey-api-key", "x-litellm-api-key", "x-litellm-tags"],
      ...["x-bf-vk", "x-tfy-metadata", "x-ai-eg-model", "x-gateway-model"],
      ...["x-model", "ai-language-model-id", "ocp-apim-subscription-key"],
    ].map((name) => [name, "1"]),
  ),
  "connection": "keep-alive, x-only-here",
  "x-only-here": "1",
  "keep-alive": "timeout=5",
  "proxy-connection": "keep-alive",
  "te": "trailers",
  "trailer": "x-checksum",
  "accept-encoding": "gzip, br",
  "content-encoding": "identity",
  "expect": "100-continue",
  "host": "evil.example",
};

async function passHeaders(
  headers: Readonly<Record<string, string>>,
  gateway: RunningGateway,
): Promise<void> {
  const answer = await sendRaw(
    gateway.port,
    rawRequest(PATHS.chat, Object.entries(headers), hello("chat")),
  );
  assert.equal(answer.status, 200, answer.body);
}

Deno.test("a caller's headers are forwarded, with the connection's credential instead of the caller's", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  // The server itself answers `expect`, and then waits for a body that it already has.
  const { expect: _, ...withheld } = WITHHELD;
  await passHeaders({ ...PASSED, ...AGENTS, ...withheld }, gateway);
  const { headers } = await upstream.requests.next();
  const { host } = new URL(upstream.url);
  const expected = new Map([
    ...Object.entries(PASSED),
    ...Object.entries(AGENTS),
    ["accept-encoding", "identity"],
    ["authorization", `Bearer ${UPSTREAM_KEY}`],
    ["content-length", String(hello("chat").length)],
    ["host", host],
  ]);
  assert.deepEqual(
    new Map([...headers].toSorted()),
    new Map([...expected].toSorted()),
  );
});

Deno.test("a caller that waits for 100 Continue is served", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const answer = await sendRaw(
    gateway.port,
    rawRequest(
      PATHS.chat,
      Object.entries({
        host: "a",
        authorization: `Bearer ${ALICE_TOKEN}`,
        expect: "100-continue",
        connection: "close",
      }),
      hello("chat"),
    ),
  );
  assert.ok([100, 200].includes(answer.status));
  const { headers } = await upstream.requests.next();
  assert.equal(headers.get("expect"), null);
});

Deno.test("a repeated header is forwarded with both values", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const headers: [string, string][] = [
    ["host", "a"],
    ["authorization", `Bearer ${ALICE_TOKEN}`],
    ["openai-beta", "one"],
    ["openai-beta", "two"],
  ];
  await sendRaw(gateway.port, rawRequest(PATHS.chat, headers, hello("chat")));
  const seen = await upstream.requests.next();
  assert.equal(seen.headers.get("openai-beta"), "one, two");
});

Deno.test("each connection sends its own credential in its own scheme", async (t) => {
  await using upstream = startUpstream();
  const cases: Readonly<
    Record<
      string,
      readonly [auth: object, header: string | null, key: string | null]
    >
  > = {
    bearer: [{ scheme: "bearer", key: "key-1" }, "Bearer key-1", null],
    "x-api-key": [{ scheme: "x-api-key", key: "key-2" }, null, "key-2"],
    none: [{ scheme: "none" }, null, null],
  };
  await steps(
    t,
    Object.entries(cases),
    async ([, [auth, authorization, apiKey]]) => {
      const connection = familyConnection("A", upstream.url, { auth });
      await using gateway = await startGateway(
        minimalFile({ connections: [connection] }),
      );
      await passHeaders({
        host: "a",
        authorization: `Bearer ${ALICE_TOKEN}`,
        "x-api-key": ALICE_TOKEN,
      }, gateway);
      const { headers } = await upstream.requests.next();
      assert.equal(headers.get("authorization"), authorization);
      assert.equal(headers.get("x-api-key"), apiKey);
      assert.ok(!JSON.stringify([...headers]).includes(ALICE_TOKEN));
    },
  );
});

const recorded = loadClientRequests();

/** The paths of recorded requests that a native connection serves, with a model that has them. */
const MODEL_BY_PATH: readonly (readonly [path: RegExp, model: string])[] = [
  [/\/v1\/chat\/completions$/, "model-a"],
  [/\/v1\/messages(\/count_tokens)?$/, "model-b"],
  [/\/v1\/responses(\/compact)?$/, "model-c"],
];

function modelFor(url: string): string | undefined {
  const [path = ""] = url.split("?");
  return MODEL_BY_PATH.find(([pattern]) => pattern.test(path))?.[1];
}

testNeeding(
  "exactly the public headers of real clients reach the upstream",
  recorded.length === 0 && "there are no recordings here",
  async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(familiesFile(upstream.url));
    for (const { name, url, headers } of recorded) {
      const model = modelFor(url);
      if (model === undefined) continue;
      await t.step(name, async () => {
        const {
          "content-length": _length,
          "content-encoding": _encoding,
          ...said
        } = headers;
        const sent = Object.entries(said).map((
          [name, value],
        ): [string, string] => [name, asSent(value)]);
        const body = JSON.stringify({ model });
        const request = rawRequest(url, sent, body);
        const { status } = await sendRaw(gateway.port, request);
        assert.equal(status, 200);
        checkSeen((await upstream.requests.next()).headers, sent);
      });
    }
  },
);

/**
 * Restores the values that the recorder replaced: `<TOKEN>` for a secret, and an ellipsis for a
 * long text.
 */
function asSent(value: string): string {
  return value.replace("<TOKEN>", ALICE_TOKEN).replaceAll("…", "...");
}

/** Checks that exactly the caller's public headers arrived, beside the gateway's own. */
function checkSeen(
  seen: Headers,
  sent: readonly (readonly [name: string, value: string])[],
): void {
  const open = sent.filter(([name]) => !(name in WITHHELD));
  for (const [name, value] of open) {
    assert.equal(seen.get(name), new Headers([[name, value]]).get(name), name);
  }
  const known = [
    ...open.map(([name]) => name),
    ...OWN,
    ...DEFAULTS,
    "x-api-key",
  ];
  assert.deepEqual(
    [...seen.keys()].filter((name) => !known.includes(name)),
    [],
  );
  assert.ok(!JSON.stringify([...seen]).includes(ALICE_TOKEN));
}
