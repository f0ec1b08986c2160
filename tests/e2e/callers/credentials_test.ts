import assert from "node:assert/strict";
import type { Protocol } from "../../../src/core/protocol.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { hello, PATHS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";

const BOB_TOKEN = "mg_bob";

const EXPIRED_TOKEN = "mg_expired";

/** Two tokens with the same beginning. */
const LONG_TOKEN = `mg_${"x".repeat(100)}`;

function fileFor({ url }: ScriptedUpstream): Record<string, unknown> {
  return familiesFile(url, {
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) }),
      tokenFile({
        name: "expired",
        sha256: sha256Hex(EXPIRED_TOKEN),
        expires_at: "2026-01-02T00:00:00Z",
      }),
      tokenFile({ name: "long", sha256: sha256Hex(`${LONG_TOKEN}1`) }),
    ],
  });
}

/** One route of each group, requested without a credential. */
const ROUTES: Readonly<
  Record<string, { path: string; protocol: Protocol; init: RequestInit }>
> = {
  "a bearer route": route("chat"),
  "a Messages route": route("messages"),
  "the list of models": {
    path: "/v1/models",
    protocol: "chat",
    init: {},
  },
  "the limits": { path: "/v1/limits", protocol: "chat", init: {} },
};

function route(protocol: Protocol) {
  return {
    path: PATHS[protocol],
    protocol,
    init: {
      method: "POST",
      body: hello(protocol),
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
      },
    },
  };
}

/** Sends a route's request with these additional headers. */
function send(
  name: string,
  headers: Readonly<Record<string, string>>,
  gateway: RunningGateway,
): Promise<Response> {
  const { path, init } = ROUTES[name] ?? assert.fail();
  const all = new Headers(init.headers);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return gateway.call(path, { ...init, headers: all });
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** Credentials that are invalid for every route. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no credential": {},
  "an empty Authorization": { authorization: "" },
  "a scheme alone": { authorization: "Bearer" },
  "a scheme and a space": { authorization: "Bearer " },
  "another scheme": { authorization: `Basic ${btoa(`alice:${ALICE_TOKEN}`)}` },
  "a token without a scheme": { authorization: ALICE_TOKEN },
  "an empty x-api-key": { "x-api-key": "" },
  "an unknown token": bearer("mg_unknown"),
  "the token in capitals": bearer(ALICE_TOKEN.toUpperCase()),
  "the beginning of a token": bearer(ALICE_TOKEN.slice(0, -1)),
  "a token and one letter": bearer(`${ALICE_TOKEN}x`),
  "two tokens in one header": bearer(`${ALICE_TOKEN} ${BOB_TOKEN}`),
  "the token's hash": bearer(sha256Hex(ALICE_TOKEN)),
  "a token that begins like another": bearer(`${LONG_TOKEN}2`),
  "quotes around the token": bearer(`"${ALICE_TOKEN}"`),
  "an expired token": bearer(EXPIRED_TOKEN),
  "an expired x-api-key": { "x-api-key": EXPIRED_TOKEN },
  "8 KiB": bearer("x".repeat(8192)),
  "8 KiB of x-api-key": { "x-api-key": "x".repeat(8192) },
  "a bearer token and an x-api-key of different callers": {
    ...bearer(ALICE_TOKEN),
    "x-api-key": BOB_TOKEN,
  },
};

Deno.test("a request without a valid credential gets 401, and reaches no upstream", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const [routeName, { protocol }] of Object.entries(ROUTES)) {
    for (const [name, headers] of Object.entries(REFUSED)) {
      // Bearer routes do not read x-api-key.
      const isBearerRoute = !/Messages|models/.test(routeName);
      if (isBearerRoute && name.includes("different callers")) continue;
      await t.step(`${routeName}: ${name}`, async () => {
        const response = await send(routeName, headers, gateway);
        const error = await readError(response, protocol);
        assert.equal(error.status, 401);
        assert.equal(error.type, "authentication_error");
        assert.equal(error.headers.get("www-authenticate"), "Bearer");
        const line = await gateway.lines.of(response);
        assert.equal(line.status, 401);
        assert.equal(line.ended, "error");
        assert.equal(line.token, undefined);
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("the response does not name the fault of a credential", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  const messages = new Set<string>();
  for (const token of ["mg_unknown", EXPIRED_TOKEN, "x".repeat(8192)]) {
    const response = await send("a bearer route", bearer(token), gateway);
    const { message, code } = await readError(response, "chat");
    messages.add(`${code} ${message}`);
  }
  assert.equal(messages.size, 1);
});

/** Alice's credentials, for routes that read both headers. */
const ACCEPTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a bearer token": bearer(ALICE_TOKEN),
  "a scheme in small letters": { authorization: `bearer ${ALICE_TOKEN}` },
  "an x-api-key": { "x-api-key": ALICE_TOKEN },
  "the same token twice": {
    ...bearer(ALICE_TOKEN),
    "x-api-key": ALICE_TOKEN,
  },
  "a valid bearer token and an unknown x-api-key": {
    ...bearer(ALICE_TOKEN),
    "x-api-key": "unknown",
  },
  "a valid x-api-key and an unknown bearer token": {
    ...bearer("unknown"),
    "x-api-key": ALICE_TOKEN,
  },
  "a valid x-api-key and an expired bearer token": {
    ...bearer(EXPIRED_TOKEN),
    "x-api-key": ALICE_TOKEN,
  },
  "a valid x-api-key and another scheme": {
    authorization: "Basic YTpi",
    "x-api-key": ALICE_TOKEN,
  },
};

Deno.test("one valid credential of one caller is enough when both headers are read", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const routeName of ["a Messages route", "the list of models"]) {
    for (const [name, headers] of Object.entries(ACCEPTED)) {
      await t.step(`${routeName}: ${name}`, async () => {
        const response = await send(routeName, headers, gateway);
        assert.equal(response.status, 200, await response.text());
        assert.equal((await gateway.lines.of(response)).token, "alice");
      });
    }
  }
});

Deno.test("bearer routes accept Authorization only", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const routeName of ["a bearer route", "the limits"]) {
    await t.step(routeName, async () => {
      const key = { "x-api-key": ALICE_TOKEN };
      const refused = await send(routeName, key, gateway);
      assert.equal((await readError(refused, "chat")).status, 401);
      const both = { ...bearer(ALICE_TOKEN), "x-api-key": BOB_TOKEN };
      const served = await send(routeName, both, gateway);
      await served.body?.cancel();
      assert.equal(served.status, 200);
      assert.equal((await gateway.lines.of(served)).token, "alice");
    });
  }
});

/** Header lines that no HTTP client writes. */
const RAW_LINES: Readonly<Record<string, string>> = {
  "two Authorization headers": `authorization: Bearer ${ALICE_TOKEN}\r\n` +
    `authorization: Bearer ${BOB_TOKEN}\r\n`,
  "the same Authorization header twice":
    `authorization: Bearer ${ALICE_TOKEN}\r\n`.repeat(2),
  "two x-api-keys": `x-api-key: ${ALICE_TOKEN}\r\nx-api-key: ${BOB_TOKEN}\r\n`,
  "bytes beyond ASCII": "authorization: Bearer mg_\xe9\xff\r\n",
  "a NUL": `authorization: Bearer ${ALICE_TOKEN}\0\r\n`,
  "a carriage return": `authorization: Bearer mg_\r${ALICE_TOKEN}\r\n`,
  "a line feed": `authorization: Bearer mg_\n${ALICE_TOKEN}: x\r\n`,
  "a folded header": `authorization: Bearer\r\n ${ALICE_TOKEN}\r\n`,
  "a space before the colon": `authorization : Bearer ${ALICE_TOKEN}\r\n`,
};

Deno.test("credentials that no client sends are rejected, and the gateway continues to serve", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const [name, lines] of Object.entries(RAW_LINES)) {
    await t.step(name, async () => {
      const answer = await sendRaw(
        gateway.port,
        `GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${lines}\r\n`,
      );
      // The server itself rejects invalid headers, before they become a request.
      if (answer.headers.has("x-request-id")) {
        assert.equal(errorAnswer(answer, "chat").status, 401);
      } else {
        assert.equal(answer.status, 400);
      }
      const next = await send("the list of models", bearer("mg_bob"), gateway);
      await next.body?.cancel();
      assert.equal(next.status, 200);
    });
  }
});
