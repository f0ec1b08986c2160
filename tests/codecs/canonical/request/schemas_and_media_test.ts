import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { wordList } from "../../../../src/base/collections.ts";
import { isPortablePattern } from "../../../../src/codecs/canonical/schema/portable_pattern.ts";
import {
  objectSchema,
  strictFault,
} from "../../../../src/codecs/canonical/schema/object_schema.ts";
import {
  invalidField,
  invalidIssue,
  unsupportedState,
} from "../../../../src/codecs/canonical/request/invalid_request.ts";
import {
  dataUrl,
  normalMediaType,
  sourceOfFile,
  sourceOfUrl,
} from "../../../../src/codecs/canonical/request/media.ts";

// The patterns of schemas that OpenAI compiles, and those that it rejects with 400 ("is not a
// 'regex'", "regex lookaround is not supported").

const TAKEN = wordList(String.raw`
  ^[0-9a-f]{32}$ ^[a-zA-Z0-9_.-]+$ ^\d{4}-\d{2}-\d{2}$ ^(?:a|b)*?c+$
  ^(foo|bar)?$ ^\s*\S+\s*$ ^https?:\/\/[^\s/]+ ^[^\u0000-\u001F\x7f]+$
  ^(?P<year>\d{4})$ ^\$\{[\w-]+\}$ \(?= [(?=] \bword\b ^[äöü]+$ ^😀{2,}$ [a-]
  [-a] [\]\-] x{2}y{2,}z{2,3}? a{b ^$
`);

// The first is of Claude Code 2.1.265's tool Artifact: https://github.com/anthropics/claude-code/issues/92969
// The fourth is of https://github.com/vercel/ai/pull/21037
const REFUSED = wordList(String.raw`
  ^(?!__.*__$)[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\./[\]]{1,200}$ [\p{L}\p{N}]+ \P{L}
  ^(?!\.)[a-z]+@[a-z]+$ (?=.*@) (?<=a)b (?<!a)b (?<name>a) \k<name> (a)\1
  \u{1F600} \u12 \x1 \cA \z \07 []a] [^] [\w-.] [a-\d] [a-c-e] [\b] [a (a a)
  *a a** a*+ ^* a{,3} [z-a] (?P<n>a)(?P<n>b) (|+) (?i)a \
`);

Deno.test("isPortablePattern() accepts a pattern that every engine compiles", () => {
  for (const pattern of ["", ...TAKEN]) {
    assert.equal(isPortablePattern(pattern), true, pattern);
  }
});

Deno.test("isPortablePattern() rejects a pattern that one of OpenAI's checks rejects", () => {
  for (const pattern of REFUSED) {
    assert.equal(isPortablePattern(pattern), false, pattern);
  }
});

Deno.test("isPortablePattern() rejects a pattern that is too long to check", () => {
  assert.equal(isPortablePattern("[a-z]".repeat(2_000)), true);
  assert.equal(isPortablePattern("[a-z]".repeat(2_001)), false);
});

Deno.test("objectSchema() returns an object with properties", () => {
  assert.deepEqual(objectSchema(undefined), { type: "object", properties: {} });
  assert.deepEqual(objectSchema({ $schema: "x", type: "object" }), {
    type: "object",
    properties: {},
  });
  assert.deepEqual(objectSchema({ properties: { a: {} } }), {
    type: "object",
    properties: { a: {} },
  });
});

Deno.test("objectSchema() adds no properties beside `anyOf`, and does not change schemas of other types", () => {
  assert.deepEqual(objectSchema({ anyOf: [{}] }), {
    type: "object",
    anyOf: [{}],
  });
  assert.deepEqual(objectSchema({ type: "string" }), { type: "string" });
});

/** Returns true when OpenAI takes a schema with `strict`. */
function isClosedSchema(schema?: JsonObject): boolean {
  return strictFault(schema) === undefined;
}

/** Returns a closed object that requires all its properties. */
function closedObject(properties: JsonObject): JsonObject {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false };
}

/** Returns closed objects in each other. */
function nestedObject(levels: number): JsonObject {
  return levels === 0
    ? { type: "string" }
    : closedObject({ a: nestedObject(levels - 1) });
}

/** Returns an object with an enum of `count` values, of `length` characters each. */
function enumOf(count: number, length: number): JsonObject {
  const values = Array.from(
    { length: count },
    (_, index) => `${index}`.padStart(length, "x"),
  );
  return closedObject({ a: { type: "string", enum: values } });
}

/** Returns an object with `count` properties, with names of `length` characters. */
function manyProperties(count: number, length: number): JsonObject {
  return closedObject(Object.fromEntries(Array.from(
    { length: count },
    (_, index) => [`${index}`.padStart(length, "x"), { type: "string" }],
  )));
}

Deno.test("strictFault() returns the OpenAI limit that a schema exceeds", async (t) => {
  await t.step("levels of objects", () => {
    assert.equal(isClosedSchema(nestedObject(10)), true);
    assert.equal(isClosedSchema(nestedObject(11)), false);
  });
  await t.step("properties in all", () => {
    assert.equal(isClosedSchema(manyProperties(5_000, 5)), true);
    assert.equal(isClosedSchema(manyProperties(5_001, 5)), false);
  });
  await t.step("characters of all names", () => {
    assert.equal(isClosedSchema(manyProperties(1_000, 120)), true);
    assert.equal(isClosedSchema(manyProperties(1_000, 121)), false);
  });
  await t.step("values of enums", () => {
    assert.equal(isClosedSchema(enumOf(1_000, 4)), true);
    assert.equal(isClosedSchema(enumOf(1_001, 4)), false);
  });
  await t.step("characters of an enum with many values", () => {
    assert.equal(isClosedSchema(enumOf(250, 100)), true);
    assert.equal(isClosedSchema(enumOf(251, 60)), false);
  });
});

Deno.test("strictFault() requires that objects are closed and all properties required, at every depth", () => {
  const closed = {
    type: "object",
    properties: { a: {} },
    required: ["a"],
    additionalProperties: false,
  };
  assert.equal(isClosedSchema(closed), true);
  assert.equal(isClosedSchema(undefined), true);
  assert.equal(isClosedSchema({ ...closed, required: [] }), false);
  assert.equal(
    isClosedSchema({ ...closed, additionalProperties: true }),
    false,
  );
  assert.equal(
    isClosedSchema({ type: "array", items: { ...closed, required: [] } }),
    false,
  );
  assert.equal(isClosedSchema({ anyOf: [closed, { type: "string" }] }), true);
  assert.equal(isClosedSchema({ anyOf: [{ properties: { a: {} } }] }), false);
  const combined = ["allOf", "oneOf"].map((word) => ({ [word]: [closed] }));
  for (const a of [...combined, { not: closed }, { if: closed }]) {
    assert.equal(isClosedSchema({ ...closed, properties: { a } }), false);
  }
  // Names and examples are no keywords.
  const properties = { not: { type: "string" }, oneOf: closed };
  const enumerated = { enum: [{ type: "object" }] };
  assert.equal(
    isClosedSchema({ ...closed, properties, required: ["not", "oneOf"] }),
    true,
  );
  assert.equal(
    isClosedSchema({ ...closed, properties: { a: enumerated } }),
    true,
  );
});

Deno.test("invalidIssue() writes a path in the callers' notation", () => {
  const path = ["messages", 0, "content", 1, "text"];
  const { param } = invalidIssue([{ path, message: "wrong" }]);
  assert.equal(param, "messages[0].content[1].text");
});

Deno.test("invalidField() names the field", () => {
  const error = invalidField("model", "is missing");
  assert.equal(error.status, 400);
  assert.equal(error.param, "model");
  assert.equal(error.message, "Cannot read the request: `model` is missing.");
});

Deno.test("invalidIssue() names the first invalid field, or reports that the body is not an object", () => {
  const error = invalidIssue([{ path: ["a", 1], message: "expected string" }, {
    path: ["b"],
    message: "x",
  }]);
  assert.equal(error.param, "a[1]");
  assert.match(error.message, /`a\[1\]` is wrong: expected string/);
  assert.equal(invalidIssue([{ path: [], message: "x" }]).param, undefined);
  assert.equal(invalidIssue([]).kind, "invalid_request");
});

Deno.test("unsupportedState() returns an error with an instruction", () => {
  const error = unsupportedState("thread", {
    details: { error_code: "thread_unsupported_request" },
  });
  assert.equal(error.param, "thread");
  assert.deepEqual(error.details, { error_code: "thread_unsupported_request" });
  assert.match(error.message, /Send the whole history/);
});

Deno.test("sourceOfUrl() parses a data URL", () => {
  assert.deepEqual(sourceOfUrl("data:image/PNG;base64,aGk="), {
    type: "base64",
    mediaType: "image/png",
    data: "aGk=",
  });
  assert.deepEqual(sourceOfUrl("data:text/plain;charset=utf-8;base64,aGk="), {
    type: "base64",
    mediaType: "text/plain",
    data: "aGk=",
  });
});

Deno.test("sourceOfUrl() keeps a URL unchanged if it is not a data URL", () => {
  assert.deepEqual(sourceOfUrl("https://example.com/a.png"), {
    type: "url",
    url: "https://example.com/a.png",
  });
});

Deno.test("sourceOfUrl() returns undefined for a data URL without base64 content", () => {
  for (const url of ["data:text/plain,hi", "data:", "data:image/png;base64"]) {
    assert.equal(sourceOfUrl(url), undefined, url);
  }
});

Deno.test("dataUrl() undoes sourceOfUrl()", () => {
  assert.equal(
    dataUrl({ mediaType: "image/png", data: "aGk=" }),
    "data:image/png;base64,aGk=",
  );
});

Deno.test("normalMediaType() returns the registered name of JPEG", () => {
  assert.equal(normalMediaType(" image/JPG "), "image/jpeg");
});

Deno.test("sourceOfUrl() and sourceOfFile() recognize bare base64 by its beginning", () => {
  const known = [
    ["JVBERi0xLjcK", "application/pdf"],
    ["iVBORw0KGgoAAAANSUhEUgAA", "image/png"],
    ["/9j/4AAQSkZJRgABAQ", "image/jpeg"],
    ["R0lGODlhAQABAIAAAAUEBA", "image/gif"],
    ["UklGRiQAAABXRUJQVlA4", "image/webp"],
  ] as const;
  for (const [data, mediaType] of known) {
    const source = { type: "base64", mediaType, data };
    assert.deepEqual(sourceOfUrl(data), source);
    assert.deepEqual(sourceOfFile(data), source);
    for (
      const head of ["data:;base64,", "data:application/octet-stream;base64,"]
    ) {
      assert.deepEqual(sourceOfUrl(head + data), source);
    }
  }
});

Deno.test("sourceOfFile() uses the file's name when the content is unknown", () => {
  const names = [
    ["notes.TXT", "text/plain"],
    ["a.b.md", "text/markdown"],
    ["table.csv", "text/csv"],
    ["page.html", "text/html"],
    ["a.json", "application/json"],
    ["a.pdf", "application/pdf"],
    // Documents are the only kind that all models read.
    ["a.what", "application/pdf"],
    [undefined, "application/pdf"],
  ] as const;
  for (const [name, mediaType] of names) {
    assert.deepEqual(sourceOfFile("aGk=", name), {
      type: "base64",
      mediaType,
      data: "aGk=",
    });
  }
});

Deno.test("sourceOfFile() accepts an address and a data URL", () => {
  assert.deepEqual(sourceOfFile("https://example.com/a.pdf", "b.txt"), {
    type: "url",
    url: "https://example.com/a.pdf",
  });
  assert.deepEqual(sourceOfFile("data:text/plain;base64,aGk=", "b.pdf"), {
    type: "base64",
    mediaType: "text/plain",
    data: "aGk=",
  });
  assert.equal(sourceOfFile("data:text/plain,hi"), undefined);
});
