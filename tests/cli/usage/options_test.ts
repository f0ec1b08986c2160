import assert from "node:assert/strict";
import { readUsageOptions } from "../../../src/cli/usage/options.ts";
import { readPages } from "../../support/program/pages.ts";

Deno.test("readUsageOptions() understands every line of the documentation", async () => {
  const text = [...(await readPages()).values()].join("\n");
  const lines = [
    ...text.matchAll(/^ *(?!#)[^`\n]*\bmodel-gateway usage\b(.*)$/gm),
  ]
    .map(([, words = ""]) => words.replace(/ > .*/, "").trim());
  assert.ok(lines.length >= 4, lines.join("\n"));
  for (const line of lines) {
    const words = line.split(/\s+/).filter((word) => word !== "");
    const options = readUsageOptions(words);
    assert.ok(!("fault" in options), `${line}: ${JSON.stringify(options)}`);
  }
});

Deno.test("readUsageOptions() reads standard input and adds up by token unless told otherwise", () => {
  assert.deepEqual(readUsageOptions([]), {
    paths: ["-"],
    by: ["token"],
    format: "table",
  });
  assert.deepEqual(readUsageOptions(["a", "--by=day,token", "-", "--csv"]), {
    paths: ["a", "-"],
    by: ["day", "token"],
    format: "csv",
  });
});
