import assert from "node:assert/strict";
import { unforeseenFields } from "../../src/http/unforeseen.ts";

const SECRET = "my secret prompt";

Deno.test("unforeseenFields() says what was thrown and where", () => {
  const { request_id, exception, stack } = unforeseenFields(
    new TypeError("x"),
    "req_1",
  );
  assert.equal(request_id, "req_1");
  assert.equal(exception, "TypeError");
  assert.ok(Array.isArray(stack) && stack.length > 0);
  for (const frame of stack) assert.match(frame, /^at /);
  assert.match(stack[0] ?? "", /unforeseen_test\.ts:\d+/);
});

/** An error whose stack was taken before its message became another one. */
function renamed(): Error {
  const error = new Error(`x\n    at ${SECRET}`);
  error.message = "harmless";
  return error;
}

/** Throws what the platform says of broken JSON, which quotes it. */
function jsonFault(): unknown {
  try {
    return JSON.parse(SECRET);
  } catch (error) {
    return error;
  }
}

Deno.test("unforeseenFields() tells nothing of a message", async (t) => {
  const cases: Readonly<Record<string, unknown>> = {
    "a plain one": new Error(SECRET),
    "that of JSON.parse": jsonFault(),
    "one that looks like frames": new Error(`x\n    at ${SECRET}\n  at y`),
    "one that looks like frames alone": new Error(`\n    at ${SECRET}`),
    "one that was changed": renamed(),
    "that of a cause": new Error("x", { cause: new Error(SECRET) }),
    "those of an aggregate": new AggregateError([new Error(SECRET)], SECRET),
  };
  for (const [name, thrown] of Object.entries(cases)) {
    await t.step(name, () => {
      const fields = unforeseenFields(thrown, "req_1");
      const text = JSON.stringify(fields);
      assert.ok(!text.includes("secret"), text);
    });
  }
});

Deno.test("unforeseenFields() bears whatever is thrown", () => {
  for (const thrown of [SECRET, 1, null, undefined, { message: SECRET }]) {
    assert.deepEqual(unforeseenFields(thrown, "req_1"), {
      request_id: "req_1",
      exception: typeof thrown,
      stack: [],
    });
  }
  const bare = new Error(SECRET);
  delete bare.stack;
  assert.deepEqual(unforeseenFields(bare, "req_1").stack, []);
});
