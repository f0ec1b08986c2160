import assert from "node:assert/strict";
import { resultText } from "../../release/compile.ts";

const OUTPUT = "dist/model-gateway";

Deno.test("compile prints the file, its size and the next commands, and nothing of the compiler's report", () => {
  const compiled = { outcome: "made", report: "Embedded Files\n" } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 121_202_939 }),
    `Made dist/model-gateway (121 MB). It needs no runtime and no other file.
Next:
  ./dist/model-gateway demo                             # try it, without a key
  ./dist/model-gateway init anthropic > gateway.yaml    # write a first configuration
  ./dist/model-gateway serve                            # serve it
`,
  );
});

Deno.test("compile prints what to do where the base of the executable cannot be downloaded", () => {
  const compiled = {
    outcome: "no base",
    report: "error: ... \nStack backtrace:\n",
  } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 0 }),
    "Cannot compile: the base of the executable cannot be downloaded from dl.deno.land. " +
      "Name a local copy in DENORT_BIN.\n",
  );
});

Deno.test("compile prints the whole report where the compiler failed", () => {
  const compiled = {
    outcome: "failed",
    report: "error: first\nerror: second\n\n",
  } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 0 }),
    "Cannot compile: the compiler failed. Its report:\nerror: first\nerror: second\n",
  );
});
