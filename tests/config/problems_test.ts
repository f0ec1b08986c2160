import assert from "node:assert/strict";
import {
  createFindings,
  formatPath,
  formatProblem,
  nearest,
  oncePerPlace,
  quote,
  suggestion,
} from "../../src/config/problems.ts";

Deno.test("formatPath() writes keys, indices and odd keys", () => {
  assert.equal(
    formatPath(["connections", 0, "models", 1, "upstream"]),
    "connections[0].models[1].upstream",
  );
  assert.equal(
    formatPath(["headers", "x-a", "a b\n"]),
    'headers.x-a["a b\\n"]',
  );
  assert.equal(formatPath([]), "");
});

Deno.test("formatProblem() names the file for a problem of the whole file", () => {
  assert.equal(
    formatProblem({ path: "", message: "is empty" }),
    "file: is empty",
  );
  assert.equal(
    formatProblem({ path: "a.b", message: "is missing." }),
    "a.b: is missing.",
  );
});

Deno.test("quote() escapes control characters and cuts long names", () => {
  assert.equal(quote('a"b\u001b'), '"a\\"b\\u001b"');
  assert.equal(quote("x".repeat(61)), `"${"x".repeat(60)}…"`);
});

const NEAR: readonly (readonly [string, string | undefined])[] = [
  ["upstraem", "upstream"],
  ["Upstream", "upstream"],
  ["hots", "host"],
  ["hsot", "host"],
  ["host_name", undefined],
  ["key", undefined],
  ["", undefined],
];

Deno.test("nearest() finds", async (t) => {
  for (const [given, expected] of NEAR) {
    await t.step(`${expected ?? "nothing"} for "${given}"`, () => {
      assert.equal(nearest(given, ["upstream", "host", "models"]), expected);
    });
  }
});

Deno.test("nearest() finds nothing in an empty list", () => {
  assert.equal(nearest("a", []), undefined);
  assert.equal(suggestion("a", []), "");
});

Deno.test("suggestion() names the nearest name", () => {
  assert.equal(suggestion("hots", ["host"]), '. Did you mean "host"?');
});

Deno.test("oncePerPlace() keeps the first problem of each place, counting the places above it", () => {
  const findings = createFindings();
  findings.problem(["a"], "first");
  findings.problem(["a"], "second");
  const once = oncePerPlace(findings);
  once.problem(["a"], "third");
  once.problem(["b"], "first");
  once.problem(["b"], "second");
  once.warn(["b"], "warning");
  assert.deepEqual(findings.problems, [
    { path: "a", message: "first" },
    { path: "a", message: "second" },
    { path: "b", message: "first" },
  ]);
  assert.deepEqual(once.warnings, [{ path: "b", message: "warning" }]);
});
