import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { Operation } from "../../../../src/base/protocol.ts";
import type { ClientIds } from "../../../../src/gateway/observe/facts.ts";
import {
  namedConversation,
  readClientIds,
  unnamedConversation,
} from "../../../../src/gateway/relay/request/conversation.ts";
import { LongBytes } from "../../../../src/base/streams/bytes.ts";
import { openTestRecord } from "../../../support/gateway/open_record.ts";
import { minimalConfig, tokenFile } from "../../../support/gateway/config.ts";
import { steps } from "../../../support/steps.ts";

const config = await minimalConfig({
  tokens: [tokenFile(), tokenFile({ name: "bob", sha256: "b".repeat(64) })],
});
const [alice, bob] = config.callers.values();

async function nameOf(
  body: JsonObject | string,
  headers: Readonly<Record<string, string>> = {},
  caller = alice,
  operation: Operation | undefined = undefined,
): Promise<string | undefined> {
  assert.ok(caller);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const { record } = openTestRecord();
  record.facts.client = readClientIds(new Headers(headers));
  const named = namedConversation({ caller, record });
  if (named !== undefined) return named;
  const found = await unnamedConversation({ caller }, {
    operation: operation ??
      (text.includes('"input"') ? "responses" : "chat_completions"),
    body: new TextEncoder().encode(text),
  });
  return found?.id;
}

const HI = { role: "user", content: "Hi" };
const HELLO = { role: "assistant", content: "Hello" };
const SYSTEM = { role: "system", content: "Be brief" };

Deno.test("a conversation has the same id in every turn", async (t) => {
  const cases: Readonly<Record<string, readonly [JsonObject, JsonObject]>> = {
    "Chat": [
      { messages: [SYSTEM, HI] },
      { model: "m", messages: [SYSTEM, HI, HELLO, HI] },
    ],
    "Messages": [{ messages: [HI] }, { messages: [HI, HELLO, HI] }],
    "Responses": [{ input: [HI] }, { input: [HI, HELLO], stream: true }],
    "Responses of one text": [{ input: "Hi" }, { input: "Hi" }],
  };
  await steps(t, Object.entries(cases), async ([, [first, later]]) => {
    assert.ok(await nameOf(first));
    assert.equal(await nameOf(first), await nameOf(later));
  });
});

Deno.test("different conversations have different ids", async () => {
  const other = { role: "user", content: "Hi there" };
  assert.notEqual(
    await nameOf({ messages: [SYSTEM, HI] }),
    await nameOf({ messages: [SYSTEM, other] }),
  );
  assert.notEqual(
    await nameOf({ input: "Hi" }),
    await nameOf({ input: "Hi there" }),
  );
});

Deno.test("two callers with equal sessions or messages have different conversations", async () => {
  const headers = { "session-id": "1" };
  assert.notEqual(
    await nameOf({ messages: [HI] }),
    await nameOf({ messages: [HI] }, {}, bob),
  );
  assert.notEqual(await nameOf({}, headers), await nameOf({}, headers, bob));
});

Deno.test("an agent's session name decides the id of a conversation, not its messages", async () => {
  for (
    const header of [
      "x-claude-code-session-id",
      "session-id",
      "x-codex-parent-thread-id",
      "session_id",
      "x-parent-session-id",
      "x-opencode-session",
      "x-session-affinity",
      "x-session-id",
      "conversation_id",
    ]
  ) {
    assert.equal(
      await nameOf({ messages: [HI] }, { [header]: "s-1" }),
      await nameOf({ messages: [HELLO] }, { [header]: "s-1" }),
    );
    assert.notEqual(
      await nameOf({ messages: [HI] }, { [header]: "s-1" }),
      await nameOf({ messages: [HI] }, { [header]: "s-2" }),
    );
  }
});

Deno.test("namedConversation() uses the session that readClientIds() reads", async () => {
  for (const { headers, ids } of Object.values(CLIENTS)) {
    if (ids?.session === undefined) continue;
    assert.equal(
      await nameOf({ messages: [HI] }, headers),
      await nameOf({ messages: [HELLO] }, { "session-id": ids.session }),
    );
  }
});

Deno.test("unnamedConversation() reads only the first part of a long conversation", async () => {
  const long = "x".repeat(100_000);
  assert.equal(
    await nameOf({ messages: [{ role: "user", content: `${long}a` }] }),
    await nameOf({ messages: [{ role: "user", content: `${long}b` }] }),
  );
  const other = "y".repeat(100_000);
  assert.notEqual(
    await nameOf({ messages: [{ role: "user", content: long }] }),
    await nameOf({ messages: [{ role: "user", content: other }] }),
  );
  const many = Array(3).fill({ role: "system", content: "z".repeat(30_000) });
  assert.equal(
    await nameOf({ messages: [...many, HI] }),
    await nameOf({ messages: [...many, HELLO, HI] }),
  );
});

Deno.test("unnamedConversation() accepts bodies without a conversation", async () => {
  assert.equal(await nameOf({ prompt: "Hi" }), undefined);
  assert.equal(
    await nameOf({ input: "Hi" }, {}, alice, "completions"),
    undefined,
  );
  assert.equal(await nameOf(`{"messages":[],"messages":[]}`), undefined);
  for (const messages of [[], [1], [[HI]], {}, null, "Hi", [SYSTEM]]) {
    assert.ok(await nameOf({ messages }));
  }
  for (const messages of [["{"], ["}{", HI], [SYSTEM, "{x", HI], [1, HI]]) {
    assert.ok(await nameOf({ messages }));
  }
});

Deno.test("unnamedConversation() returns the same id for a long and a short body with the same beginning", async () => {
  const [caller] = config.callers.values();
  assert.ok(caller);
  const begun = JSON.stringify({ messages: [SYSTEM, HI] });
  const gone = JSON.stringify({
    messages: [SYSTEM, HI, { ...HELLO, content: "x".repeat(300_000) }],
  });
  const operation = "chat_completions";
  const body = new TextEncoder().encode(begun);
  const pieces = gone.match(/.{1,100000}/gs) ?? [];
  const long = new LongBytes(
    pieces.map((piece) => new TextEncoder().encode(piece)),
  );
  const found = await unnamedConversation(
    { caller },
    { operation, body: long },
  );
  assert.equal(found?.isContinued, true);
  assert.deepEqual(
    await unnamedConversation({ caller }, { operation, body }),
    { id: found?.id, isContinued: false },
  );
});

const ONE = "19ac82bf-3376-449b-824d-92c51abdb30c";
const OTHER = "01a1f972-3c2b-71e0-a18f-64f184259895";

/** The ids of each client's requests, and the id that the gateway uses. */
const CLIENTS: Readonly<
  Record<string, {
    readonly headers: Readonly<Record<string, string>>;
    readonly ids: ClientIds | undefined;
  }>
> = {
  "Claude Code": {
    headers: { "X-Claude-Code-Session-Id": ONE },
    ids: { session: ONE },
  },
  "a subagent of Claude Code whose parent is the main agent": {
    headers: {
      "x-claude-code-session-id": ONE,
      "x-claude-code-agent-id": "a49c623feadbcb795",
      "x-claude-code-parent-agent-id": "b49c623feadbcb795",
      "x-client-request-id": OTHER,
    },
    ids: { session: ONE, agent: "a49c623feadbcb795", requestId: OTHER },
  },
  "Codex with its first thread as the session": {
    headers: {
      "session-id": ONE,
      "thread-id": ONE,
      "x-client-request-id": ONE,
    },
    ids: { session: ONE, requestId: ONE },
  },
  "another thread of Codex": {
    headers: { "session-id": ONE, "thread-id": OTHER },
    ids: { session: ONE, agent: OTHER },
  },
  "a subagent of Codex before its threads shared a session": {
    headers: { session_id: OTHER, "x-codex-parent-thread-id": ONE },
    ids: { session: ONE, agent: OTHER },
  },
  "Codex of old": {
    headers: { conversation_id: ONE, session_id: ONE },
    ids: { session: ONE },
  },
  "opencode": {
    headers: { "x-session-affinity": "ses_1", "x-session-id": "ses_1" },
    ids: { session: "ses_1" },
  },
  "a subagent of opencode": {
    headers: {
      "x-session-affinity": "ses_2",
      "x-session-id": "ses_2",
      "x-parent-session-id": "ses_1",
    },
    ids: { session: "ses_1", agent: "ses_2" },
  },
  "opencode with its own service's names": {
    headers: {
      "x-opencode-session": "ses_1",
      "x-opencode-request": "msg_1",
      "x-opencode-project": "prj_1",
    },
    ids: { session: "ses_1", requestId: "msg_1" },
  },
  "an SDK, and a proxy in front": {
    headers: { "x-client-request-id": "mine", "x-request-id": "the proxy's" },
    ids: { requestId: "mine" },
  },
  "a proxy in front": {
    headers: { "x-request-id": "the proxy's" },
    ids: { requestId: "the proxy's" },
  },
  "a client that names nothing": {
    headers: { "user-agent": "curl/8", "x-session": ONE },
    ids: undefined,
  },
};

Deno.test("readClientIds() reads each client's ids of its session, agent and request", async (t) => {
  await steps(
    t,
    Object.entries(CLIENTS),
    ([, { headers, ids }]) =>
      assert.deepEqual(readClientIds(new Headers(headers)), ids),
  );
});

Deno.test("readClientIds() cuts ids to 128 characters and removes control characters", () => {
  const ids = readClientIds(
    new Headers({
      "session-id": "s".repeat(1000),
      "thread-id": "\u001b[31mred\t\u009bx",
      "x-client-request-id": `${"r".repeat(127)}é…`.slice(0, 128),
    }),
  );
  assert.deepEqual(ids, {
    session: "s".repeat(128),
    agent: "[31mredx",
    requestId: `${"r".repeat(127)}é`,
  });
});

Deno.test("readClientIds() ignores a header without a usable id", () => {
  const headers = new Headers({
    "session-id": "",
    "x-session-id": "ses_1",
    "x-client-request-id": "\u0001\u0002",
  });
  assert.deepEqual(readClientIds(headers), { session: "ses_1" });
});
