import assert from "node:assert/strict";
import {
  invalidField,
  invalidIssue,
  paramOf,
  unsupportedState,
} from "../../../../src/protocols/canonical/request/invalid_request.ts";

Deno.test("paramOf() writes a path in the callers' notation", () => {
  assert.equal(
    paramOf(["messages", 0, "content", 1, "text"]),
    "messages[0].content[1].text",
  );
  assert.equal(paramOf([]), "");
});

Deno.test("invalidField() names the field", () => {
  const error = invalidField("model", "is missing");
  assert.equal(error.status, 400);
  assert.equal(error.param, "model");
  assert.equal(error.message, "Cannot read the request: `model` is missing.");
});

Deno.test("invalidIssue() names the first fault, and a body that is not an object", () => {
  const error = invalidIssue([{ path: ["a", 1], message: "expected string" }, {
    path: ["b"],
    message: "x",
  }]);
  assert.equal(error.param, "a[1]");
  assert.match(error.message, /`a\[1\]` is wrong: expected string/);
  assert.equal(invalidIssue([{ path: [], message: "x" }]).param, undefined);
  assert.equal(invalidIssue([]).kind, "invalid_request");
});

Deno.test("unsupportedState() returns an instruction", () => {
  const error = unsupportedState("thread", {
    details: { error_code: "thread_unsupported_request" },
  });
  assert.equal(error.param, "thread");
  assert.deepEqual(error.details, { error_code: "thread_unsupported_request" });
  assert.match(error.message, /Send the whole history/);
});
