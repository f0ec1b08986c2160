import assert from "node:assert/strict";
import {
  closestString,
  levenshteinDistance,
  parseYaml,
  stringifyYaml,
  uuidV5,
} from "../../src/core/std.ts";

Deno.test("parseYaml() reads with the core schema on request", () => {
  assert.deepEqual(
    parseYaml("at: 2027-01-01\n<<: {a: 1}\n", { schema: "core" }),
    { at: "2027-01-01", "<<": { a: 1 } },
  );
});

Deno.test("parseYaml() throws a SyntaxError that names line and column", () => {
  assert.throws(() => parseYaml("a: [1\nb: 2"), (error) => {
    assert.ok(error instanceof SyntaxError);
    assert.match(error.message, /line \d+, column \d+/);
    return true;
  });
});

Deno.test("stringifyYaml() writes what parseYaml() reads", () => {
  const value = { tokens: [{ name: "a: b", connections: ["*"] }] };
  assert.deepEqual(parseYaml(stringifyYaml(value)), value);
});

Deno.test("uuidV5() matches the example of RFC 9562", async () => {
  const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  const data = new TextEncoder().encode("www.example.com");
  assert.equal(await uuidV5(dns, data), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
});

Deno.test("levenshteinDistance() and closestString() count single edits", () => {
  assert.equal(levenshteinDistance("kitten", "sitting"), 3);
  assert.equal(
    closestString("modls", ["tokens", "models", "limits"]),
    "models",
  );
});
