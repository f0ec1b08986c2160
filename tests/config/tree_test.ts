import assert from "node:assert/strict";
import { copyTree } from "../../src/config/tree.ts";
import { readYaml } from "../../src/config/yaml.ts";

function copyYaml(text: string) {
  const yaml = readYaml(text);
  assert.ok("value" in yaml);
  return copyTree(yaml.value, (found) => found);
}

Deno.test("copyTree() maps every text and gives its path", () => {
  const seen: string[] = [];
  const result = copyTree(
    { a: ["x", { b: "y" }], c: 1, d: null },
    (text, path) => {
      seen.push(`${path.join(".")}=${text}`);
      return text.toUpperCase();
    },
  );
  assert.deepEqual(result, {
    value: { a: ["X", { b: "Y" }], c: 1, d: null },
  });
  assert.deepEqual(seen, ["a.0=x", "a.1.b=y"]);
});

Deno.test("copyTree() leaves what it copies unchanged", () => {
  const tree = Object.freeze({ a: Object.freeze(["x"]) });
  copyTree(tree, () => "other");
  assert.deepEqual(tree, { a: ["x"] });
});

Deno.test("copyTree() copies what an alias stands for", () => {
  assert.deepEqual(copyYaml("a: &x { k: v }\nb: *x\n"), {
    value: { a: { k: "v" }, b: { k: "v" } },
  });
});

Deno.test("copyTree() refuses aliases that multiply", () => {
  const levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 10; level++) {
    const inner = Array(10).fill(`*a${level - 1}`).join(", ");
    levels.push(`a${level}: &a${level} [${inner}]`);
  }
  assert.deepEqual(copyYaml(levels.join("\n")), {
    problem: {
      path: "",
      message: "holds more than 1000000 values; are aliases to blame?",
    },
  });
});

Deno.test("copyTree() refuses an alias inside of what it stands for", () => {
  const result = copyYaml("a: &x [*x]\n");
  assert.ok("problem" in result);
  assert.match(result.problem.path, /^a\[0\]\[0\]/);
  assert.match(result.problem.message, /^is nested too deeply/);
});

Deno.test("copyTree() refuses a key that would reach a prototype", () => {
  assert.deepEqual(copyYaml('{"a": {"__proto__": {"polluted": true}}}'), {
    problem: { path: "a.__proto__", message: "is not a known key here" },
  });
  assert.equal(Reflect.get({}, "polluted"), undefined);
});
