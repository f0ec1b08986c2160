import assert from "node:assert/strict";
import { readClientIds } from "../../../src/relay/request/client_ids.ts";
import type { ClientIds } from "../../../src/observe/facts.ts";

const ONE = "19ac82bf-3376-449b-824d-92c51abdb30c";
const OTHER = "01a1f972-3c2b-71e0-a18f-64f184259895";

/** What each client sends, and what the gateway takes of it. */
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
  "a subagent of Claude Code, whose parent is no agent of its own": {
    headers: {
      "x-claude-code-session-id": ONE,
      "x-claude-code-agent-id": "a49c623feadbcb795",
      "x-claude-code-parent-agent-id": "b49c623feadbcb795",
      "x-client-request-id": OTHER,
    },
    ids: { session: ONE, agent: "a49c623feadbcb795", requestId: OTHER },
  },
  "Codex, whose first thread is the session": {
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

Deno.test("readClientIds() reads what each client calls its session, agent and request", async (t) => {
  for (const [name, { headers, ids }] of Object.entries(CLIENTS)) {
    await t.step(
      name,
      () => assert.deepEqual(readClientIds(new Headers(headers)), ids),
    );
  }
});

Deno.test("readClientIds() keeps 128 characters, none of them a control character", () => {
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

Deno.test("readClientIds() passes over a header that holds nothing that can be told", () => {
  const headers = new Headers({
    "session-id": "",
    "x-session-id": "ses_1",
    "x-client-request-id": "\u0001\u0002",
  });
  assert.deepEqual(readClientIds(headers), { session: "ses_1" });
});
