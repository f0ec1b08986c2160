/** Every way in which a request could leave the regions of its caller. No provider outside may get one. */
import assert from "node:assert/strict";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../support/gateway/failover_scene.ts";
import {
  configOf,
  loadFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import {
  type Act,
  good,
  silent,
  status,
} from "../../support/upstream/bad_provider.ts";
import { credentials, PROTOCOLS } from "../../support/wire/ask.ts";

/** Connections `eu` and `us` for each protocol; `shared` is on both, and each has a model of its own. */
function connections(region: { readonly eu?: string; readonly us?: string }) {
  return PROTOCOLS.flatMap((protocol) =>
    (["us", "eu"] as const).map((place) =>
      connectionTo(place, { protocol, mode: "native" }, {
        name: `${place} ${protocol}`,
        ...region[place] === undefined ? {} : { region: region[place] },
        ...place === "eu" ? { max_concurrent: 1 } : {},
        models: [
          { id: `shared-${protocol}`, upstream: `shared-${protocol}-up` },
          {
            id: `${place}-${protocol}`,
            upstream: `${place}-${protocol}-up`,
            aliases: [`alias-${place}-${protocol}`],
            ...place === "eu"
              ? { fallbacks: [`us-${protocol}`, `alias-us-${protocol}`] }
              : {},
          },
        ],
      })
    )
  );
}

const TOKEN = { connections: ["*"], regions: ["eu"] };

async function open(
  token: Readonly<Record<string, unknown>> = TOKEN,
  eu: readonly Act[] = [good],
): Promise<Scene> {
  return await openScene(
    connections({ eu: "eu", us: "us" }),
    { eu, us: [good] },
    {
      tokens: [tokenFile(token)],
      groups: { staff: { regions: ["eu"] }, both: { regions: ["us", "eu"] } },
    },
  );
}

async function send(
  { gateway, pass }: Scene,
  path: string,
  body?: Readonly<Record<string, unknown>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = {
    "content-type": "application/json",
    "session-id": "session-1",
    ...credentials(path.includes("/messages") ? "messages" : "chat"),
  };
  const request = new Request(`http://gateway${path}`, {
    headers,
    ...body && { method: "POST", body: JSON.stringify(body) },
  });
  const response = await pass(gateway.handler(request));
  return { status: response.status, text: await pass(response.text()) };
}

const USER = { role: "user", content: "Hello" };

/** A body for each path of a protocol. */
const PATHS = {
  "/v1/chat/completions": { protocol: "chat", body: { messages: [USER] } },
  "/v1/completions": { protocol: "chat", body: { prompt: "Hello" } },
  "/v1/messages": {
    protocol: "messages",
    body: { max_tokens: 9, messages: [USER] },
  },
  "/v1/messages/count_tokens": {
    protocol: "messages",
    body: { messages: [USER] },
  },
  "/v1/responses": { protocol: "responses", body: { input: "Hello" } },
  "/v1/responses/compact": { protocol: "responses", body: { input: "Hello" } },
} as const;

Deno.test("no path serves a model outside the caller's regions, by its name, an alias or its upstream name", async () => {
  for (const [path, { protocol, body }] of Object.entries(PATHS)) {
    const scene = await open();
    for (const model of [`us-${protocol}`, `alias-us-${protocol}`]) {
      const { status, text } = await send(scene, path, { ...body, model });
      assert.equal(status, 400, `${path} ${model}: ${text}`);
      assert.match(text, /stay in the regions eu/);
    }
    const { status } = await send(scene, path, {
      ...{ ...body, model: `us-${protocol}-up` },
    });
    assert.equal(status, 404, path);
    assert.deepEqual(scene.providers.hosts(), []);
  }
});

Deno.test("no request leaves its caller's regions after a failure, at a full connection or for a fallback", async () => {
  for (const act of [status(500), status(429), status(529), silent]) {
    for (const [path, { protocol, body }] of Object.entries(PATHS)) {
      for (const model of [`shared-${protocol}`, `eu-${protocol}`]) {
        const scene = await open(TOKEN, [act]);
        const sent = await send(scene, path, { ...body, model });
        assert.ok(sent.status >= 400, `${path} ${model}: ${sent.status}`);
        assert.ok(!scene.providers.hosts().includes("us"), `${path} ${model}`);
      }
    }
  }
  const scene = await open();
  const body = { model: "shared-chat", messages: [USER] };
  const all = await Promise.all(
    Array.from({ length: 8 }, () => send(scene, "/v1/chat/completions", body)),
  );
  assert.ok(all.some(({ status }) => status === 200));
  assert.ok(!scene.providers.hosts().includes("us"));
});

Deno.test("no field of a body makes a request leave its caller's regions", async () => {
  const names = ["us-chat", "us-chat-up", "alias-us-chat", "shared-chat-up"];
  for (const name of names) {
    for (
      const fields of [
        { models: [name] },
        { fallbacks: [name] },
        { fallback_models: [name] },
        { route: "fallback", models: ["eu-chat-up", name] },
        { provider: { order: ["us"], allow_fallbacks: true } },
      ]
    ) {
      const scene = await open();
      const { status } = await send(scene, "/v1/chat/completions", {
        ...{ model: "eu-chat", messages: [USER], ...fields },
      });
      const isOutside = !("provider" in fields) && name.includes("us-");
      assert.equal(status, isOutside ? 400 : 200, JSON.stringify(fields));
      assert.ok(!scene.providers.hosts().includes("us"));
    }
  }
});

Deno.test("no list names a model or connection outside the caller's regions", async () => {
  const scene = await open();
  for (
    const path of [
      ...["/v1/models", "/v1/models?client_version=0.169.0", "/v1/usage"],
      ...["/v1/limits", "/.well-known/opencode"],
    ]
  ) {
    const { status, text } = await send(scene, path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /us[ -](chat|messages|responses)/, path);
  }
  for (
    const [model, expected] of [["us-chat", 400], ["eu-chat", 200]] as const
  ) {
    const { status } = await send(scene, `/v1/models/${model}`);
    assert.equal(status, expected, model);
  }
});

Deno.test("a group's regions apply to its members, and two lists allow only their common regions", async () => {
  const cases:
    readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
      [{ connections: ["*"], group: "staff" }, "eu"],
      [{ connections: ["*"], group: "staff", regions: ["us", "eu"] }, "eu"],
      [{ connections: ["*"], group: ["staff", "both"] }, "eu"],
      [{ connections: ["*"], group: "both", regions: ["us"] }, "us"],
    ];
  for (const [token, expected] of cases) {
    const scene = await open(token);
    for (let count = 0; count < 3; count++) {
      const body = { model: "shared-chat", messages: [USER] };
      const { status } = await send(scene, "/v1/chat/completions", body);
      assert.equal(status, 200, JSON.stringify(token));
    }
    assert.deepEqual(new Set(scene.providers.hosts()), new Set([expected]));
  }
});

Deno.test("a reload that adds regions moves a conversation into them", async () => {
  const scene = await open({ connections: ["*"] });
  const body = { model: "shared-chat", messages: [USER] };
  const ask = () => send(scene, "/v1/chat/completions", body);
  assert.equal((await ask()).status, 200);
  assert.deepEqual(scene.providers.hosts(), ["us"], "the first in the file");
  scene.liveConfig.swap(configOf(
    await loadFile(minimalFile({
      connections: connections({ eu: "eu", us: "us" }),
      tokens: [tokenFile(TOKEN)],
    })),
  ));
  assert.equal((await ask()).status, 200);
  assert.equal((await ask()).status, 200);
  assert.deepEqual(scene.providers.hosts(), ["us", "eu", "eu"]);
  // A connection without a region is in none.
  scene.liveConfig.swap(configOf(
    await loadFile(minimalFile({
      connections: connections({ eu: "eu" }),
      tokens: [tokenFile(TOKEN)],
    })),
  ));
  const { status } = await send(scene, "/v1/chat/completions", {
    ...{ ...body, model: "us-chat" },
  });
  assert.equal(status, 400);
  assert.deepEqual(scene.providers.hosts(), ["us", "eu", "eu"]);
});
