import assert from "node:assert/strict";
import type { Connection } from "../../../src/gateway/config/config.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { translatedHeaders } from "../../../src/gateway/upstream/headers.ts";
import { minimalConfig } from "../../support/gateway/config.ts";

type TranslatedHeadersOptions = Parameters<typeof translatedHeaders>[2];

async function headersFor(
  caller: Readonly<Record<string, string>>,
  { fixed = {}, ...options }: Partial<TranslatedHeadersOptions> & {
    readonly fixed?: Connection["headers"];
  } = {},
): Promise<Record<string, string>> {
  return headersOf(caller, await connectionWith(fixed), options);
}

async function connectionWith(
  headers: Connection["headers"],
): Promise<Connection> {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  return { ...first, auth: { scheme: "none" }, headers };
}

function headersOf(
  caller: Readonly<Record<string, string>>,
  connection: Connection,
  options: Partial<TranslatedHeadersOptions>,
): Record<string, string> {
  const pairs = translatedHeaders(new Headers(caller), connection, {
    ownHeaders: [],
    protocolPrefixes: prefixesOf("anthropic"),
    stream: false,
    ...options,
  });
  const names = pairs.map(([name]) => name);
  assert.equal(new Set(names).size, names.length, "a name stands twice");
  return Object.fromEntries(pairs);
}

const OWN = {
  "accept": "application/json",
  "accept-encoding": "identity",
  "content-type": "application/json",
};

/** Returns the prefixes of all headers that belong to one of the protocols. */
function prefixesOf(messagesVendor: string): readonly string[] {
  return Object.values(CODECS).flatMap(({ headerPrefixes }) =>
    headerPrefixes(messagesVendor)
  );
}

Deno.test("translatedHeaders() omits the headers of the caller's protocol", async () => {
  const foreign = {
    "accept": "text/html",
    "anthropic-beta": "a",
    "anthropic-version": "2024-01-01",
    "chatgpt-account-id": "1",
    "content-type": "application/json; charset=latin1",
    "openai-beta": "a",
    "originator": "codex",
    "x-codex-turn-state": "t",
    "x-openai-subagent": "a",
    "x-stainless-lang": "js",
  };
  assert.deepEqual(await headersFor(foreign), OWN);
});

Deno.test("translatedHeaders() omits the headers of every protocol", async () => {
  for (const codec of Object.values(CODECS)) {
    const prefixes = codec.headerPrefixes("acme");
    for (const prefix of prefixes) {
      assert.deepEqual(
        await headersFor({ [`${prefix}x`]: "1" }, {
          protocolPrefixes: prefixesOf("acme"),
        }),
        OWN,
      );
    }
    const sent = codec.requestHeaders("acme").map(([name]) => name);
    assert.deepEqual(
      sent.filter((name) => !prefixes.some((one) => name.startsWith(one))),
      [],
      `${codec.protocol} sends what a request of another protocol could bring`,
    );
  }
});

Deno.test("translatedHeaders() forwards headers that belong to no protocol", async () => {
  const open = { "user-agent": "agent/1", "x-session": "1" };
  assert.deepEqual(await headersFor(open), { ...OWN, ...open });
});

Deno.test("translatedHeaders() requests a stream with its accept header", async () => {
  const { accept } = await headersFor({}, { stream: true });
  assert.equal(accept, "text/event-stream");
});

Deno.test("translatedHeaders() sends the gateway's own version header to a Messages provider", async () => {
  const caller = { "anthropic-version": "2024-01-01" };
  const headers = await headersFor(caller, {
    ownHeaders: CODECS.messages.requestHeaders("anthropic"),
  });
  assert.equal(headers["anthropic-version"], "2023-06-01");
  const options = {
    ownHeaders: CODECS.messages.requestHeaders("acme"),
    protocolPrefixes: prefixesOf("acme"),
  };
  const other = await headersFor({ "acme-version": "2024-01-01" }, options);
  assert.equal(other["acme-version"], "2023-06-01");
  assert.equal(other["anthropic-version"], undefined);
});

Deno.test("translatedHeaders() prefers the connection's fixed headers", async () => {
  const fixed = {
    "accept": "*/*",
    "anthropic-version": "2099-01-01",
    "originator": "gateway",
  };
  const headers = await headersFor({}, {
    ownHeaders: CODECS.messages.requestHeaders("anthropic"),
    fixed,
  });
  assert.deepEqual(headers, { ...OWN, ...fixed });
});

Deno.test("translatedHeaders() adds the gateway's own beta to the connection's betas, in every request", async () => {
  const ownHeaders: [string, string][] = [["anthropic-beta", "b"]];
  assert.deepEqual(
    await headersFor({ "anthropic-beta": "c" }, { ownHeaders }),
    { ...OWN, "anthropic-beta": "b" },
  );
  const connection = await connectionWith({ "anthropic-beta": "a" });
  for (let request = 0; request < 2; request++) {
    assert.deepEqual(headersOf({}, connection, { ownHeaders }), {
      ...OWN,
      "anthropic-beta": "a,b",
    });
  }
});
