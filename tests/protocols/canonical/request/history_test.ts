import assert from "node:assert/strict";
import type {
  Block,
  ToolResultBlock,
} from "../../../../src/protocols/canonical/content/block.ts";
import { settleHistory } from "../../../../src/protocols/canonical/request/history.ts";
import type { Turn } from "../../../../src/protocols/canonical/request/request.ts";

const call = (id: string): Block => ({
  kind: "function_call",
  id,
  name: "f",
  arguments: "{}",
});
const result = (callId: string, text: string): ToolResultBlock => ({
  kind: "tool_result",
  callId,
  callKind: "function",
  content: [{ kind: "text", text }],
  isError: false,
});
const user = (text: string): Turn => ({
  role: "user",
  blocks: [{ kind: "text", text }],
});
const calls = (...ids: string[]): Turn => ({
  role: "assistant",
  blocks: ids.map(call),
});
const results = (...blocks: Block[]): Turn => ({ role: "tool", blocks });

Deno.test("settleHistory() does not change a history in order", () => {
  const turns = [
    user("a"),
    calls("1", "2"),
    results(result("1", "x"), result("2", "y")),
    user("b"),
  ];
  assert.deepEqual(settleHistory(turns), turns);
});

Deno.test("settleHistory() puts results in the order of the calls, in one turn", () => {
  const turns = [
    calls("1", "2"),
    results(result("2", "y")),
    results(result("1", "x")),
  ];
  assert.deepEqual(settleHistory(turns), [
    calls("1", "2"),
    results(result("1", "x"), result("2", "y")),
  ]);
});

Deno.test("settleHistory() moves turns between a call and its result after the result", () => {
  const turns = [calls("1"), user("by the way"), results(result("1", "x"))];
  assert.deepEqual(settleHistory(turns), [
    calls("1"),
    results(result("1", "x")),
    user("by the way"),
  ]);
});

Deno.test("settleHistory() replaces a missing result by an error", () => {
  assert.deepEqual(settleHistory([calls("1"), user("next")]), [
    calls("1"),
    results({ ...result("1", "[no result: interrupted]"), isError: true }),
    user("next"),
  ]);
});

Deno.test("settleHistory() turns a result without a call into text of the user", () => {
  assert.deepEqual(settleHistory([user("a"), results(result("9", "x"))]), [
    user("a"),
    {
      role: "user",
      blocks: [{ kind: "text", text: "[result of the earlier tool call 9]" }, {
        kind: "text",
        text: "x",
      }],
    },
  ]);
});

Deno.test("settleHistory() matches repeated ids with the nearest result", () => {
  const turns = [
    calls("0"),
    results(result("0", "first")),
    user("more"),
    calls("0"),
    results(result("0", "second")),
  ];
  assert.deepEqual(settleHistory(turns), turns);
  const lost = [
    calls("0"),
    user("more"),
    calls("0"),
    results(result("0", "second")),
  ];
  assert.deepEqual(
    settleHistory(lost)[1],
    results({ ...result("0", "[no result: interrupted]"), isError: true }),
  );
});

Deno.test("settleHistory() sets the kind of a result to that of its call", () => {
  const custom: Turn = {
    role: "assistant",
    blocks: [{ kind: "custom_call", id: "1", name: "p", input: "x" }],
  };
  const [, tool] = settleHistory([custom, results(result("1", "ok"))]);
  assert.deepEqual(tool, results({ ...result("1", "ok"), callKind: "custom" }));
});

Deno.test("settleHistory() accepts histories of the longest body", () => {
  const turns = Array.from({ length: 50_000 }, (_, index) => [
    calls(`c${index}`),
    results(result(`c${index}`, "x")),
  ]).flat();
  assert.equal(settleHistory(turns).length, turns.length);
  const same = results(...Array(50_000).fill(result("c", "x")));
  assert.equal(settleHistory([calls("c"), same]).length, 50_001);
});
