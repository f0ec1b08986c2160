import assert from "node:assert/strict";
import { runUsage } from "../../../src/cli/usage/command.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { inPieces } from "./pieces.ts";

/** Runs `model-gateway usage` on a log, and returns the total. */
export async function totalOfLog(log: string): Promise<JsonObject> {
  let out = "";
  const code = await runUsage(["--json"], {
    write: (text) => out += text,
    writeError: (text) => assert.fail(text),
    env: () => undefined,
    identify: () => Promise.resolve(undefined),
    open: () => Promise.resolve(inPieces(log, 4096)),
    isTyped: () => false,
    columns: () => undefined,
  });
  assert.equal(code, 0);
  return JSON.parse(out).total;
}
