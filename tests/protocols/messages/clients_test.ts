import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import { chatCodec } from "../../../src/protocols/chat/mod.ts";
import { messagesCodec } from "../../../src/protocols/messages/mod.ts";
import { loadClientRequests } from "../../support/recorded/client_recordings.ts";
import { assertSendable } from "../../support/sdk/messages_rules.ts";
import { contextFor } from "../../support/dialects/targets.ts";
import { needing } from "../../support/ignored.ts";
import { translateRequest } from "../../support/translate_request.ts";

const REQUESTS = loadClientRequests("/messages");

/** The fields of clients that a Chat-only upstream cannot receive. */
const DROPPED: readonly string[] = [
  // Most providers cache by themselves.
  "cache_control",
  // The upstream decides when to clear the caller's history.
  "context_management",
  // Signatures that the client made itself.
  "signature",
  // A search that the upstream runs.
  "tools",
  "top_k",
];

Deno.test({
  ...needing(
    "every request of a real client is understood and can be sent on" +
      (REQUESTS.length === 0 ? ": left out, as there are no recordings" : ""),
    REQUESTS.length === 0 && "there are no recordings here",
  ),
  fn: async (t) => {
    for (const { name, body } of REQUESTS) {
      await t.step(name, () => {
        if (body.thread !== undefined) {
          return assert.throws(
            () => messagesCodec.decodeRequest(body),
            (error) =>
              error instanceof GatewayError && error.param === "thread",
          );
        }
        const decoded = messagesCodec.decodeRequest(body);
        const { context } = contextFor("anthropic", {
          model: "claude-opus-4-8",
        });
        assertSendable(messagesCodec.encodeRequest(decoded, context));
        const { dropped } = translateRequest(body, {
          from: messagesCodec,
          to: chatCodec,
          target: { ...context.target, service: "custom" },
          strict: false,
          streamOnly: false,
          force: {},
          omit: [],
        });
        for (const field of dropped) assert.ok(DROPPED.includes(field), field);
      });
    }
  },
});
