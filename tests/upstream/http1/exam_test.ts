import assert from "node:assert/strict";
import { examine } from "./examine.ts";
import { ODD_RESPONSES } from "./odd_responses.ts";

Deno.test("every odd response has the verdict of the table, whole, byte by byte and cut at every byte", async (t) => {
  for (const [name, { text, verdict }] of ODD_RESPONSES) {
    await t.step(name, async () => {
      assert.deepEqual(await examine([text]), verdict, "whole");
      assert.deepEqual(await examine(text), verdict, "byte by byte");
      for (let at = 1; at < text.length; at++) {
        const pieces = [text.slice(0, at), text.slice(at)];
        assert.deepEqual(await examine(pieces), verdict, `cut at ${at}`);
      }
    });
  }
});
