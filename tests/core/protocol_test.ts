import assert from "node:assert/strict";
import { OPERATIONS } from "../../src/core/protocol.ts";

Deno.test("OPERATIONS matches the endpoints in the documentation", () => {
  const rows = Object.entries(OPERATIONS).map(([operation, shape]) =>
    [operation, shape.endpoint, shape.path, shape.protocol].join(" ")
  );
  assert.deepEqual(rows, [
    "chat_completions chat /chat/completions chat",
    "completions completions /completions chat",
    "messages messages /messages messages",
    "count_tokens messages /messages/count_tokens messages",
    "responses responses /responses responses",
    "compact responses /responses/compact responses",
  ]);
});
