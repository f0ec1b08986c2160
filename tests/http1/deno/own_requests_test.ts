import { openNetwork } from "../../../src/gateway/process/network.ts";
import assert from "node:assert/strict";
import { requestGateway } from "../../../src/tools/gateway_client.ts";
import { readModelList } from "../../../src/gateway/catalog/read_list.ts";
import { refresh } from "../../../src/tools/login/issuer.ts";
import { openLogin } from "../../../src/tools/login/kept_login.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { readQuota } from "../../../src/gateway/quotas/read.ts";
import { readerOf } from "../../../src/gateway/quotas/readers/mod.ts";
import { readKeys } from "../../../src/gateway/relay/identity/key_sets.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import { sendSmall } from "../../../src/gateway/upstream/small_request.ts";
import { sourceOf } from "../../gateway/quotas/quota_case.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { runProgram } from "../../support/program/run_program.ts";
import { openTempFolder } from "../../support/temp_folder.ts";
import { startScriptedProxy } from "../../support/upstream/scripted_proxy.ts";
import { within } from "../../support/within.ts";

type Network = ReturnType<typeof openNetwork>;

const deadline = () => AbortSignal.timeout(20_000);

/** Every kind of request that the program sends. Each goes to `base`, a server with a name. */
const KINDS: Readonly<
  Record<string, (network: Network, base: string) => Promise<unknown>>
> = {
  "a model request": async ({ client }, base) => {
    const url = `${base}/v1/chat/completions`;
    const request = { url, headers: [], connectMs: 0, signal: deadline() };
    const { body } = await client.send(request);
    await body?.cancel();
  },
  "a quota": ({ fetch }, base) => {
    const source = sourceOf("zai", { base: `${base}/api/paas/v4` });
    const { poll } = readerOf(source.quota);
    assert.ok(poll);
    return readQuota(poll, source, {
      ...{ fetch, clock: systemClock, signal: deadline() },
    });
  },
  "a list of models": async ({ fetch }, base) => {
    const { connections: [connection] } = await minimalConfig();
    assert.ok(connection);
    const endpoints = { chat: `${base}/v1` };
    await readModelList({ ...connection, endpoints }, {
      ...{ fetch, clock: systemClock, signal: deadline() },
      messagesVendor: "anthropic",
    });
  },
  "the keys of an identity provider": ({ fetch }, base) =>
    readKeys({
      issuer: base,
      keys: { kind: "discovery", url: `${base}/.well-known/keys` },
    }, { fetch, signal: deadline() }),
  "a token exchange": ({ fetch }, base) =>
    sendSmall({ url: `${base}/token`, body: "grant_type=x" }, {
      client: createFetchClient(fetch),
      start: createDeadlines().start,
    }),
  "a login": ({ fetch }, base) =>
    refresh(
      {
        ...{ token: "a.b.c", fromMs: 0, untilMs: 1, refreshToken: "r" },
        tokenUrl: `${base}/token`,
      },
      { issuer: base, client: "people", scope: "", audience: undefined },
      {
        ...{ fetch, deadline, now: Date.now },
        wait: () => Promise.resolve(),
      },
    ),
  "a request to a gateway": ({ fetch }, base) =>
    requestGateway({ url: `${base}/v1/models` }, { fetch, deadline }),
};

/** A server that records the paths of its requests. */
function startServer() {
  const paths: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      paths.push(new URL(request.url).pathname);
      return Response.json({ data: [] });
    },
  );
  const { port } = server.addr;
  return {
    ...{ paths, port, base: `http://localhost:${port}` },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const REFUSED = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n" +
  "connection: close\r\n\r\n";

/** The forms of an entry that exclude `localhost` from the proxy. */
const FORMS = (port: number) => [
  "LocalHost",
  "*.localhost",
  "*.LOCALHOST",
  ".localhost",
  "localhost.",
  `localhost:${port}`,
  `a.example, LOCALHOST.:${port}`,
  "*",
];

for (const [kind, send] of Object.entries(KINDS)) {
  Deno.test(`NO_PROXY keeps ${kind} from the proxy, whatever form its entry has`, async () => {
    await using server = startServer();
    await using proxy = startScriptedProxy(REFUSED);
    const proxied = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
    const sendWith = async (env: Readonly<Record<string, string>>) => {
      using network = openNetwork((name) => env[name]);
      // The caller may reject the response: the request has arrived.
      const sending = send(network, server.base).catch(() => {});
      await within(sending, "the end of the request");
    };
    for (const form of FORMS(server.port)) {
      const before = server.paths.length;
      await sendWith({ ...proxied, NO_PROXY: form });
      assert.ok(server.paths.length > before, form);
    }
    assert.deepEqual(proxy.heads, []);
    const before = server.paths.length;
    for (const form of ["", "ocalhost", "localhost:1", "a.localhost"]) {
      const heads = proxy.heads.length;
      await sendWith({ ...proxied, NO_PROXY: form });
      assert.ok(proxy.heads.length > heads, form);
    }
    assert.equal(server.paths.length, before);
  });
}

/** The commands that send requests to a server, with their paths. */
const COMMANDS: Readonly<
  Record<string, readonly [args: readonly string[], path: string]>
> = {
  "check --live": [["check", "--live", "--quiet"], "/v1/models"],
  limits: [["limits"], "/v1/limits"],
  login: [["login"], "/token"],
};

Deno.test("the commands use NO_PROXY as the server does", async (t) => {
  for (const [name, [args, path]] of Object.entries(COMMANDS)) {
    await t.step(name, async () => {
      await using server = startServer();
      await using proxy = startScriptedProxy(REFUSED);
      await using folder = await openTempFolder();
      const issuer = server.base;
      const known = { issuer, client: "c", scope: "s", audience: undefined };
      const login = openLogin(`${folder.path}/model-gateway/logins`, known);
      await login.alone(() =>
        login.write({
          ...{ token: "a.b.c", fromMs: 0, untilMs: 1, refreshToken: "r" },
          tokenUrl: `${issuer}/token`,
        })
      );
      const config = `${folder.path}/gateway.yaml`;
      await Deno.writeTextFile(
        config,
        JSON.stringify({
          connections: [{
            name: "main",
            service: "openai-chat",
            auth: { scheme: "bearer", key: "k" },
            endpoints: { chat: `${server.base}/v1` },
            models: ["model-a"],
          }],
          tokens: [{
            name: "alice",
            sha256: sha256Hex("t"),
            connections: ["main"],
          }],
        }),
      );
      const more = name === "login"
        ? ["--issuer", issuer, "--client", "c", "--scope", "s"]
        : [];
      const { stderr, stdout } = await runProgram([...args, ...more], {
        HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
        NO_PROXY: `*.LOCALHOST:${server.port}`,
        MODEL_GATEWAY_CONFIG: config,
        MODEL_GATEWAY_URL: server.base,
        MODEL_GATEWAY_TOKEN: "t",
        XDG_STATE_HOME: folder.path,
      });
      assert.ok(server.paths.includes(path), `${stderr} ${stdout}`);
      assert.deepEqual(proxy.heads, []);
    });
  }
});
