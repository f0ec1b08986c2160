import assert from "node:assert/strict";
import {
  KNOWN_FILE,
  needsReason,
  parseKnown,
  verdictOf,
} from "./known_list.ts";
import { PINNED_FOLDERS } from "./pinned.ts";
import { readTypes } from "./read_types.ts";

// Each field of the official SDKs' types has a line that says what becomes of it, and the line is true.

const KNOWN = parseKnown(await Deno.readTextFile(KNOWN_FILE));
const FIELDS = readTypes(PINNED_FOLDERS);

const ADVICE = "task sdk:types --write brings the list up to date";

Deno.test("the list has every field of the SDKs' types, and no other", () => {
  const missing = [...FIELDS.keys()].filter((path) => !KNOWN.has(path));
  const gone = [...KNOWN.keys()].filter((path) => !FIELDS.has(path));
  assert.deepEqual({ missing, gone }, { missing: [], gone: [] }, ADVICE);
});

Deno.test("the list's entry of a field matches its translation", () => {
  const wrong = [...FIELDS.values()].flatMap((field) => {
    const listed = KNOWN.get(field.path)?.verdict;
    const found = verdictOf(field);
    return listed === found ? [] : [`${field.path}: ${listed} is ${found}`];
  });
  assert.deepEqual(wrong, [], ADVICE);
});

Deno.test("the list has a reason for exactly the fields that a translation silently leaves out", () => {
  const wrong = [...KNOWN.values()].filter(({ verdict, reason }) =>
    needsReason(verdict) !== (reason !== "")
  );
  assert.deepEqual(wrong, []);
});

Deno.test("the list uses the same versions of the SDKs as the other tests", async () => {
  const sdks = new URL("../support/sdk/sdks.ts", import.meta.url);
  const pinned = new URL("./pinned.ts", import.meta.url);
  const judges = await Deno.readTextFile(sdks);
  const specifiers = (await Deno.readTextFile(pinned)).match(/npm:[^"]+/g);
  assert.equal(specifiers?.length, 2);
  for (const specifier of specifiers) {
    assert.ok(judges.includes(`"${specifier}"`), specifier);
  }
});
