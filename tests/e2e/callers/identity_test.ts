import assert from "node:assert/strict";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import {
  configOf,
  loadFile,
  NOW_MS,
  tokenFile,
} from "../../support/gateway/config.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
} from "../../support/gateway/identity_scene.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, credentials, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

type Fields = Readonly<Record<string, unknown>>;

const signer = await createSigner();
const keys = () => Response.json({ keys: [signer.jwk] });

/** A token of the gateway with the same name as the subject of a JWT. */
const NAMESAKE = "mg_namesake";

/** Starts a provider, an issuer and a gateway that trusts it. */
async function openScene(entry: Fields = {}, rest: Fields = {}) {
  const upstream = startUpstream();
  const issuer = startUpstream(keys);
  const file = (over: Fields = {}) =>
    familiesFile(upstream.url, {
      groups: { platform: {} },
      tokens: [
        tokenFile(),
        tokenFile({ name: "u-1", sha256: sha256Hex(NAMESAKE) }),
      ],
      identity: [
        identityFile({
          issuer: issuer.url,
          jwks_url: `${issuer.url}/keys`,
          ...entry,
          ...over,
        }),
      ],
      ...rest,
    });
  const gateway = await startGateway(file(), {
    clock: createFakeClock(NOW_MS),
  });
  const claims = { ...GOOD_CLAIMS, iss: issuer.url };
  return {
    ...{ upstream, issuer, gateway, claims },
    sign: (more: Fields = {}) => signer.sign({ ...claims, ...more }),
    reload: async (over: Fields) =>
      gateway.liveConfig.swap(configOf(await loadFile(file(over)))),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await Promise.all([
        upstream[Symbol.asyncDispose](),
        issuer[Symbol.asyncDispose](),
      ]);
    },
  };
}

/** Sends the smallest request of a protocol with a token. */
function send(
  gateway: RunningGateway,
  token: string,
  protocol: typeof PROTOCOLS[number] = "chat",
): Promise<Response> {
  const init = ask(protocol, undefined, credentials(protocol, token));
  return gateway.call(PATHS[protocol], init);
}

/** Sends that request and returns its status. */
async function statusOf(
  gateway: RunningGateway,
  token: string,
): Promise<number> {
  const response = await send(gateway, token);
  await response.body?.cancel();
  return response.status;
}

async function usageOf(gateway: RunningGateway, token: string) {
  const response = await gateway.call("/v1/usage", {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("a caller with a JWT is served in every protocol, and no part of the JWT reaches the provider or the log", async () => {
  await using scene = await openScene({
    rules: [{ connections: ["*"], group: "platform" }],
  });
  const { gateway, upstream, issuer } = scene;
  const token = await scene.sign();
  for (const protocol of PROTOCOLS) {
    const response = await send(gateway, token, protocol);
    assert.equal(response.status, 200);
    await response.body?.cancel();
    const line = await gateway.lines.of(response);
    assert.equal(line.token, `u-1 (${issuer.url})`);
    assert.equal(line.token_group, "platform");
    const { headers } = await upstream.requests.next();
    const sent = JSON.stringify([...headers]);
    for (const part of token.split(".")) assert.ok(!sent.includes(part));
  }
  for (const part of token.split(".")) {
    assert.ok(!gateway.lines.text().includes(part));
  }
  assert.equal(issuer.requests.items.length, 1);
});

Deno.test("a caller of an issuer and a token of the same name share no limits and no usage", async () => {
  await using scene = await openScene({
    rules: [{ connections: ["*"], limits: [{ window: "day", requests: 1 }] }],
  });
  const { gateway } = scene;
  const token = await scene.sign();
  assert.equal(await statusOf(gateway, token), 200);
  const refused = await readError(await send(gateway, token), "chat");
  assert.deepEqual([refused.status, refused.code], [
    429,
    "insufficient_quota",
  ]);
  // Another token of the same person is the same caller, another person is not.
  assert.equal(await statusOf(gateway, await scene.sign({ jti: "2" })), 429);
  assert.equal(await statusOf(gateway, await scene.sign({ sub: "u-2" })), 200);
  assert.equal(await statusOf(gateway, NAMESAKE), 200);
  assert.equal(await statusOf(gateway, NAMESAKE), 200);

  const own = await usageOf(gateway, token);
  assert.equal(own.token, `u-1 (${scene.issuer.url})`);
  assert.deepEqual([own.limits[0].limit, own.limits[0].used], [1, 1]);
  const namesake = await usageOf(gateway, NAMESAKE);
  assert.equal(namesake.token, "u-1");
  assert.deepEqual(namesake.limits, []);
});

Deno.test("each refusal of a JWT has the shape of the protocol", async (t) => {
  await using scene = await openScene({
    rules: [{ when: { groups: "platform" }, connections: ["*"] }],
  });
  const { gateway } = scene;
  const tokens = {
    401: await scene.sign({ aud: "other" }),
    403: await scene.sign({ groups: [] }),
  };
  for (const [status, token] of Object.entries(tokens)) {
    for (const protocol of PROTOCOLS) {
      await t.step(`${status} of ${protocol}`, async () => {
        const response = await send(gateway, token, protocol);
        const error = await readError(response, protocol);
        assert.equal(error.status, Number(status));
        const type = status === "401" ? "authentication" : "permission";
        assert.equal(error.type, `${type}_error`);
        assert.equal(error.headers.get("x-should-retry"), "false");
        const { reason } = await gateway.lines.of(response);
        assert.equal(
          reason,
          status === "401"
            ? "it is for another audience"
            : `no rule applies to u-1 (${scene.issuer.url})`,
        );
      });
    }
  }
});

Deno.test("while an issuer is unreachable, its callers get 503 and all others are served", async (t) => {
  await using scene = await openScene();
  const { gateway, issuer } = scene;
  issuer.play(() => new Response("secret page", { status: 500 }));
  const token = await scene.sign();
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await send(gateway, token, protocol);
    const error = await readError(response, protocol);
    assert.deepEqual([error.status, error.type], [503, "overloaded_error"]);
    assert.equal(error.headers.get("retry-after"), "5");
  });
  assert.equal(await statusOf(gateway, NAMESAKE), 200);
  const unread = await gateway.lines.others.next();
  assert.equal(unread.event, "identity_keys_unread");
  assert.equal(unread.reason, "it answered with status 500");
  assert.ok(!gateway.lines.text().includes("secret page"));
  assert.equal(issuer.requests.items.length, 1);
});

testNeeding(
  "two threads count the running requests of a caller together",
  Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  async () => {
    const held = Promise.withResolvers<Response>();
    await using upstream = startUpstream(() => held.promise);
    await using issuer = startUpstream(keys);
    await using gateway = await serveFile(
      familiesFile(upstream.url, {
        server: { port: 0, workers: 2 },
        identity: [identityFile({
          issuer: issuer.url,
          jwks_url: `${issuer.url}/keys`,
          rules: [{ connections: ["*"], max_concurrent: 1 }],
        })],
      }),
    );
    const iat = Math.floor(Date.now() / 1000);
    const token = await signer.sign({
      ...GOOD_CLAIMS,
      ...{ iss: issuer.url, iat, exp: iat + 600 },
    });
    const init = ask("chat", undefined, credentials("chat", token));
    const url = gateway.url + PATHS.chat;
    const running = fetch(url, init);
    await upstream.requests.next();
    for (let count = 0; count < 20; count++) {
      assert.equal((await askOnce(url, init)).status, 429);
    }
    held.resolve(Response.json({}));
    const answer = await running;
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  },
);

testNeeding(
  "two threads read the keys of an issuer once, and look for an unknown key once",
  Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  async () => {
    const stranger = await createSigner("k9");
    await using upstream = startUpstream();
    await using issuer = startUpstream(keys);
    await using gateway = await serveFile(
      familiesFile(upstream.url, {
        server: { port: 0, workers: 2 },
        identity: [identityFile({
          issuer: issuer.url,
          jwks_url: `${issuer.url}/keys`,
        })],
      }),
    );
    const iat = Math.floor(Date.now() / 1000);
    const statusOf = async (sub: string, by = signer) => {
      const token = await by.sign({
        ...GOOD_CLAIMS,
        ...{ sub, iss: issuer.url, iat, exp: iat + 600 },
      });
      const init = ask("chat", undefined, credentials("chat", token));
      return (await askOnce(gateway.url + PATHS.chat, init)).status;
    };
    // Each request has its own connection, so that both threads get some.
    for (let count = 0; count < 12; count++) {
      assert.equal(await statusOf(`u-${count}`), 200);
      assert.equal(await statusOf(`u-${count}`, stranger), 401);
    }
    assert.equal(issuer.requests.items.length, 1);
  },
);

testNeeding(
  "a file of keys is watched, so that a rotation needs no restart",
  Deno.build.os === "windows" && "Windows has no such links and signals",
  async () => {
    const next = await createSigner("k2");
    const file = await Deno.makeTempFile();
    const write = (jwk: unknown) =>
      Deno.writeTextFile(file, JSON.stringify({ keys: [jwk] }));
    await write(signer.jwk);
    try {
      await using upstream = startUpstream();
      await using gateway = await serveFile(
        familiesFile(upstream.url, {
          server: { port: 0 },
          identity: [identityFile({ jwks_url: undefined, jwks_file: file })],
        }),
      );
      const iat = Math.floor(Date.now() / 1000);
      const claims = { ...GOOD_CLAIMS, iat, exp: iat + 600 };
      const statusWith = async (token: string) => {
        const init = ask("chat", undefined, credentials("chat", token));
        return (await askOnce(gateway.url + PATHS.chat, init)).status;
      };
      const [old, renewed] = [
        await signer.sign(claims),
        await next.sign(claims),
      ];
      assert.deepEqual([await statusWith(old), await statusWith(renewed)], [
        200,
        401,
      ]);
      await write(next.jwk);
      await gateway.line("config_applied");
      assert.deepEqual([await statusWith(old), await statusWith(renewed)], [
        401,
        200,
      ]);
    } finally {
      await Deno.remove(file);
    }
  },
);
