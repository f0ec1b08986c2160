import assert from "node:assert/strict";
import { createGateway } from "../../../../src/gateway/app.ts";
import type { ExchangedToken } from "../../../../src/gateway/config/token_exchange.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { createLogLines } from "../../../support/gateway/log_lines.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
} from "../../../support/gateway/config.ts";
import { settle } from "../../../support/settle.ts";
import { hello } from "../../../support/wire/ask.ts";

const EXCHANGED = connectionFile({
  auth: { exchange: { kind: "google_metadata" } },
});

const SIGNED = connectionFile({
  auth: { exchange: { kind: "aws_instance", region: "eu-central-1" } },
});

/** Refusals of providers, by the scheme of the key. */
const REFUSED = {
  bearer: (key: string) =>
    Response.json({ error: { message: key } }, { status: 401 }),
  aws: () =>
    Response.json({
      message: "The security token included in the request is expired",
    }, {
      status: 403,
      headers: { "x-amzn-errortype": "ExpiredTokenException" },
    }),
};

const ANSWER = {
  id: "1",
  object: "chat.completion",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "Hi" },
    finish_reason: "stop",
  }],
};

const token = (name: string): ExchangedToken => ({
  token: `${name}-secret`,
  expiresAtMs: Infinity,
});

/** Opens a gateway whose provider accepts one token. `onRefused` gets the function that sets another token. */
async function open(
  {
    first,
    accepted,
    connections = [EXCHANGED],
    refused = REFUSED.bearer,
    onRefused,
  }: {
    readonly first: ExchangedToken;
    readonly accepted: string;
    readonly connections?: readonly unknown[];
    readonly refused?: (key: string) => Response;
    readonly onRefused: (use: (name: string) => Promise<void>) => void;
  },
) {
  const load = async (found: ExchangedToken) =>
    configOf(
      await loadFile(minimalFile({ connections }), {
        tokenFor: () => Promise.resolve(found),
      }),
    );
  const liveConfig = createLiveConfig(await load(first));
  const sent: string[] = [];
  const timers = createFakeTimers();
  const lines = createLogLines();
  let asked = 0;
  const { handler } = createGateway({
    liveConfig,
    log: lines.log,
    timers,
    fetch(_url, init) {
      const headers = new Headers(init.headers);
      const session = headers.get("x-amz-security-token");
      const key = session === null
        ? headers.get("authorization") ?? "none"
        : `Bearer ${session}`;
      sent.push(key);
      return Promise.resolve(
        key === `Bearer ${accepted}` ? Response.json(ANSWER) : refused(key),
      );
    },
    shared: {
      onKeyRefused() {
        asked += 1;
        // The process makes one exchange for all requests, too.
        if (asked > 1) return;
        onRefused(async (name) => liveConfig.swap(await load(token(name))));
      },
    },
  });
  return {
    ...{ sent, timers, lines, liveConfig },
    get asked() {
      return asked;
    },
    ask: () =>
      handler(
        new Request("http://gateway/v1/chat/completions", {
          method: "POST",
          headers: {
            authorization: `Bearer ${ALICE_TOKEN}`,
            "content-type": "application/json",
          },
          body: hello("chat"),
        }),
      ),
  };
}

Deno.test("a refused token is renewed once, and the request succeeds with the new one", async () => {
  const scene = await open({
    first: token("old"),
    accepted: "new-secret",
    onRefused: (use) => void use("new"),
  });
  const response = await scene.ask();
  assert.equal(response.status, 200, await response.clone().text());
  await response.body?.cancel();
  assert.deepEqual(scene.sent, ["Bearer old-secret", "Bearer new-secret"]);
  assert.equal(scene.asked, 1);
});

Deno.test("200 concurrent requests during a key rotation are all answered", async () => {
  const scene = await open({
    first: token("old"),
    accepted: "new-secret",
    onRefused: (use) => void settle().then(() => use("new")),
  });
  const responses = await Promise.all(Array.from({ length: 200 }, scene.ask));
  for (const response of responses) {
    assert.equal(response.status, 200);
    await response.body?.cancel();
  }
});

Deno.test("an expired AWS key is renewed once although its status is 403", async () => {
  const keys = (name: string) => token(`ASIA:secret-of-${name}:${name}`);
  const scene = await open({
    first: keys("old"),
    accepted: "new-secret",
    connections: [SIGNED],
    refused: REFUSED.aws,
    onRefused: (use) => void use("ASIA:secret-of-new:new"),
  });
  const response = await scene.ask();
  assert.equal(response.status, 200, await response.clone().text());
  await response.body?.cancel();
  assert.deepEqual(scene.sent, ["Bearer old-secret", "Bearer new-secret"]);
});

Deno.test("a request that arrives during a renewal waits for it", async () => {
  let renew = () => Promise.resolve();
  const scene = await open({
    first: token("old"),
    accepted: "new-secret",
    onRefused: (use) => renew = () => use("new"),
  });
  const first = scene.ask();
  while (scene.asked === 0) await settle();
  const second = scene.ask();
  while (scene.sent.length < 2) await settle();
  await renew();
  for (const response of await Promise.all([first, second])) {
    assert.equal(response.status, 200);
    await response.body?.cancel();
  }
});

Deno.test("a rejected new token leads to the usual error, which shows neither token", async () => {
  const scene = await open({
    first: token("old"),
    accepted: "none",
    onRefused: (use) => void use("new"),
  });
  const response = await scene.ask();
  const text = await response.text();
  assert.equal(response.status, 502);
  assert.match(text, /upstream_authentication/);
  assert.doesNotMatch(text, /secret/);
  assert.equal(scene.sent.length, 2);
});

Deno.test("a request waits at most 5 s for a new token", async () => {
  const scene = await open({
    first: token("old"),
    accepted: "none",
    onRefused: () => {},
  });
  const response = scene.ask();
  while (scene.asked === 0) await settle();
  scene.timers.advance(5000);
  assert.equal((await response).status, 502);
  await (await response).body?.cancel();
});

Deno.test("a refused key from the configuration file is not renewed", async () => {
  const scene = await open({
    first: token("old"),
    accepted: "none",
    connections: [connectionFile()],
    onRefused: (use) => void use("new"),
  });
  const response = await scene.ask();
  await response.body?.cancel();
  assert.deepEqual([response.status, scene.asked], [502, 0]);
});

Deno.test("a connection without a token gets no request", async () => {
  const scene = await open({
    first: { reason: "it cannot be reached" },
    accepted: "none",
    onRefused: () => {},
  });
  const response = await scene.ask();
  assert.equal(response.status, 502);
  assert.match(await response.text(), /upstream_authentication/);
  assert.deepEqual([scene.sent, scene.asked], [[], 0]);
});

Deno.test("Anthropic gets an exchanged token with its required beta", async () => {
  const headers: Headers[] = [];
  const connection = connectionFile({
    service: "anthropic",
    family: undefined,
    endpoints: undefined,
    auth: {
      exchange: {
        kind: "anthropic",
        subject: { google_metadata: "https://api.anthropic.com" },
        federation_rule: "fdrl_1",
        organization: "org",
      },
    },
    models: ["model-b"],
  });
  const config = configOf(
    await loadFile(minimalFile({ connections: [connection] }), {
      tokenFor: () => Promise.resolve(token("anthropic")),
    }),
  );
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    log: createLogLines().log,
    timers: createFakeTimers(),
    fetch(_url, init) {
      headers.push(new Headers(init.headers));
      return Promise.resolve(Response.json({}, { status: 400 }));
    },
  });
  for (const beta of ["context-1m-2025-08-07", "oauth-2025-04-20,x"]) {
    const response = await handler(
      new Request("http://gateway/v1/messages", {
        method: "POST",
        headers: {
          "x-api-key": ALICE_TOKEN,
          "anthropic-version": "2023-06-01",
          "anthropic-beta": beta,
          "content-type": "application/json",
        },
        body: hello("messages"),
      }),
    );
    await response.body?.cancel();
  }
  assert.deepEqual(
    headers.map((one) => [
      one.get("authorization"),
      one.get("x-api-key"),
      one.get("anthropic-beta"),
    ]),
    [
      [
        "Bearer anthropic-secret",
        null,
        "context-1m-2025-08-07,oauth-2025-04-20",
      ],
      ["Bearer anthropic-secret", null, "oauth-2025-04-20,x"],
    ],
  );
});
