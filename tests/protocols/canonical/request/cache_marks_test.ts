import assert from "node:assert/strict";
import { loseCacheMarks } from "../../../../src/protocols/canonical/request/cache_marks.ts";
import type { Loss } from "../../../../src/protocols/canonical/request/loss.ts";
import { messagesCodec } from "../../../../src/protocols/messages/mod.ts";

const MARK = { cache_control: { type: "ephemeral" } };

const QUESTION = { model: "m", max_tokens: 1 };

const TEXT = { type: "text", text: "Hello" };

/** The places of a Messages request that can carry a mark. */
const MARKED = {
  "the request": { messages: [{ role: "user", content: "Hello" }], ...MARK },
  "a system text": {
    system: [{ ...TEXT, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a tool": {
    tools: [{ name: "t", input_schema: { type: "object" }, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a user's text": {
    messages: [{ role: "user", content: [{ ...TEXT, ...MARK }] }],
  },
  "the content of a tool's result": {
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "t", input: {} }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ ...TEXT, ...MARK }],
        }],
      },
    ],
  },
};

function lossesOf(body: Record<string, unknown>): Loss[] {
  const losses: Loss[] = [];
  const request = messagesCodec.decodeRequest(
    JSON.parse(JSON.stringify({ ...QUESTION, ...body })),
  );
  loseCacheMarks(request, { lose: (loss) => losses.push(loss) });
  return losses;
}

Deno.test("cache marks are reported once as lost, wherever they stand", async (t) => {
  for (const [place, body] of Object.entries(MARKED)) {
    await t.step(`on ${place}`, () => {
      const [loss, ...more] = lossesOf(body);
      assert.deepEqual([loss?.field, loss?.weight], ["cache", "hint"]);
      assert.deepEqual(more, []);
    });
  }
});

Deno.test("nothing is reported of a request without cache marks", () => {
  const messages = [{ role: "user", content: [TEXT] }];
  assert.deepEqual(lossesOf({ messages }), []);
});
