import assert from "node:assert/strict";
import { readPages } from "../support/program/pages.ts";
import { referencePages } from "./pages.ts";

const pages = await readPages();

for (const [path, text] of await referencePages()) {
  Deno.test(`${path} equals the output of deno task reference`, () => {
    assert.equal(pages.get(path), text);
  });
}
