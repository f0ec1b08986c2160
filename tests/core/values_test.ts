import assert from "node:assert/strict";
import { readHeaders } from "../../src/core/header_fields.ts";
import { randomIds } from "../../src/core/ids.ts";
import {
  isDeepJson,
  isHeavyJson,
  isJsonObject,
  parseJson,
  parseLightJson,
  pickFields,
  present,
} from "../../src/core/json.ts";
import { OPERATIONS } from "../../src/core/protocol.ts";
import { sha256Hex } from "../../src/core/sha256.ts";
import {
  closestString,
  levenshteinDistance,
  stringifyYaml,
  uuidV5,
} from "../../src/core/std.ts";
import { pipe, runStage, type Stage } from "../../src/core/stage.ts";
import { parseYaml } from "../support/yaml.ts";

Deno.test("readHeaders() returns the same values as the headers", () => {
  const headers = new Headers([
    ["X-B", "2"],
    ["x-a", "1"],
    ["x-b", "3"],
    ["x-empty", ""],
  ]);
  const fields = readHeaders(headers);
  for (const name of ["x-a", "x-b", "x-empty", "x-c"]) {
    assert.equal(fields.get(name) ?? null, headers.get(name), name);
    assert.equal(fields.has(name), headers.has(name), name);
  }
  assert.deepEqual([...fields.keys()], ["x-a", "x-b", "x-empty"]);
  const seen: string[] = [];
  fields.forEach((value, name) => seen.push(`${name}: ${value}`));
  assert.deepEqual(seen, ["x-a: 1", "x-b: 2, 3", "x-empty: "]);
});

Deno.test("readHeaders() treats names of object properties like others", () => {
  const fields = readHeaders(new Headers([["__proto__", "a"]]));
  assert.equal(fields.get("__proto__"), "a");
  assert.equal(fields.has("constructor"), false);
});

Deno.test("randomIds.next() returns the prefix and 32 hexadecimal digits", () => {
  assert.match(randomIds.next("req"), /^req_[0-9a-f]{32}$/);
});

Deno.test("randomIds.next() never returns the same id twice", () => {
  const ids = Array.from({ length: 1000 }, () => randomIds.next("req"));
  assert.equal(new Set(ids).size, ids.length);
});

Deno.test("parseJson() reads every kind of value", () => {
  assert.deepEqual(parseJson(' {"a":[1,"x",null,true]} '), {
    a: [1, "x", null, true],
  });
  assert.equal(parseJson("null"), null);
  assert.equal(parseJson('"x"'), "x");
});

Deno.test("parseJson() returns undefined for text that is not JSON", () => {
  for (
    const text of ["", "{", "{}x", "[DONE]", "NaN", "undefined", "\ufeff1"]
  ) {
    assert.equal(parseJson(text), undefined, text);
  }
});

Deno.test("parseJson() survives nesting of any depth", () => {
  const depth = 1_000_000;
  assert.doesNotThrow(() => parseJson("[".repeat(depth) + "]".repeat(depth)));
});

Deno.test("isDeepJson() counts the levels of objects and arrays, and no brackets in strings", () => {
  const flat = '[[1],{"a":"[[[{{{\\"[[["},[],[],[]]';
  assert.equal(isDeepJson(flat, 2), false);
  assert.equal(isDeepJson(flat, 1), true);
  assert.equal(isDeepJson('{"a":{"a":[]}}', 2), true);
  assert.equal(isDeepJson("[".repeat(1_000_000), 1000), true);
});

Deno.test("isJsonObject() accepts only objects", () => {
  assert.ok(isJsonObject({}));
  assert.ok(isJsonObject({ a: 1 }));
  for (const value of [null, undefined, [], "x", 1, true]) {
    assert.ok(!isJsonObject(value), String(value));
  }
});

Deno.test("pickFields() keeps fields in their order, even one with a prototype's name", () => {
  const object = JSON.parse('{"b":1,"__proto__":{"x":1},"a":null,"c":2}');
  const picked = pickFields(
    object,
    (name, value) => name !== "b" && value !== null,
  );
  assert.equal(JSON.stringify(picked), '{"__proto__":{"x":1},"c":2}');
  assert.equal(Object.getPrototypeOf(picked), Object.prototype);
  assert.deepEqual(pickFields(object, () => false), {});
});

Deno.test("present() leaves out only fields without a value", () => {
  const object = { a: undefined, b: null, c: 0, d: "", e: false };
  assert.deepEqual(Object.keys(present(object)), ["b", "c", "d", "e"]);
});

/** Texts of so many values, which others would wait for, each in another form. */
const MANY: Readonly<Record<string, (count: number) => string>> = {
  elements: (count) => `[${"0,".repeat(count)}0]`,
  members: (count) =>
    `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join()}}`,
  arrays: (count) => `[${"[],".repeat(count / 2)}0]`,
  objects: (count) => `[${"{},".repeat(count / 2)}0]`,
  depth: (count) => "[".repeat(count) + "]".repeat(count),
  lines: (count) => "1\n".repeat(count),
};

Deno.test("isHeavyJson() returns true above 65,536 values of any kind", () => {
  for (const [kind, textOf] of Object.entries(MANY)) {
    assert.ok(isHeavyJson(textOf(70_000)), kind);
    assert.ok(!isHeavyJson(textOf(60_000)), kind);
  }
});

Deno.test("isHeavyJson() counts nothing within strings of any length", () => {
  for (const text of [",", "[{", '\\"', "\\\\", '\\",[', "\\n"]) {
    const long = `{"text":"${text.repeat(200_000)}"}`;
    assert.ok(!isHeavyJson(long), text);
    assert.notEqual(parseLightJson(long), undefined);
    assert.ok(isHeavyJson(`[${long},${MANY.elements?.(70_000)}]`), text);
  }
});

Deno.test("parseLightJson() parses only light JSON", () => {
  assert.deepEqual(parseLightJson('{"a":[1]}'), { a: [1] });
  assert.equal(parseLightJson("{"), undefined);
  for (const textOf of Object.values(MANY)) {
    assert.equal(parseLightJson(textOf(70_000)), undefined);
  }
});

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

Deno.test("sha256Hex() returns the digest of the FIPS 180 example", () => {
  assert.equal(
    sha256Hex("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

Deno.test("sha256Hex() hashes the UTF-8 bytes", async () => {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode("ключ 🔑"),
  );
  assert.equal(sha256Hex("ключ 🔑"), new Uint8Array(digest).toHex());
});

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

/** Gives every input `times` times, and `last` at the end. */
function repeat<In>(times: number, last: In): Stage<In, In> {
  return {
    push(input, emit) {
      for (let count = 0; count < times; count++) emit(input);
    },
    end: (emit) => emit(last),
  };
}

Deno.test("runStage() returns the outputs of a stage for its inputs and their end", () => {
  assert.deepEqual(runStage(repeat(2, "end"), ["a", "b"]), [
    "a",
    "a",
    "b",
    "b",
    "end",
  ]);
});

Deno.test("pipe() passes each output on at once, and the first stage's rest before the second ends", () => {
  const stage = pipe(repeat(1, "first"), repeat(2, "second"));
  assert.deepEqual(runStage(stage, ["a"]), [
    "a",
    "a",
    "first",
    "first",
    "second",
  ]);
});

Deno.test("pipe() follows a sink that changes between inputs", () => {
  const stage = pipe(repeat(1, "-"), repeat(1, "-"));
  const one: string[] = [];
  const two: string[] = [];
  stage.push("a", (text) => one.push(text));
  stage.push("b", (text) => two.push(text));
  assert.deepEqual([one, two], [["a"], ["b"]]);
});
