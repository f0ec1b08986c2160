import assert from "node:assert/strict";
import { runUsage } from "../../../src/tools/usage/command.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { createMemoryIo } from "../fakes/memory_io.ts";
import { inPieces } from "./pieces.ts";

/** Runs `model-gateway usage` on a log, and returns the total. */
export async function totalOfLog(log: string): Promise<JsonObject> {
  const io = createMemoryIo();
  const code = await runUsage(["--json", "-"], {
    ...io,
    identify: () => Promise.resolve(undefined),
    open: () => Promise.resolve(inPieces(log, 4096)),
    isTyped: () => false,
    fetch: () => assert.fail("A log needs no gateway"),
    deadline: AbortSignal.timeout,
    now: Date.now,
    columns: () => undefined,
  });
  assert.equal(code, 0, io.complained());
  return JSON.parse(io.written()).total;
}
