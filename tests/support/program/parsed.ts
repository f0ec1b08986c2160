import assert from "node:assert/strict";
import { type Arguments, command } from "../../../src/tools/arguments.ts";
import type { CommandSpec } from "../../../src/tools/command.ts";
import { createMemoryIo } from "../fakes/memory_io.ts";

/** Returns the arguments of a command as it understands them. Fails when it rejects them. */
export async function parsed(
  spec: CommandSpec,
  args: readonly string[],
): Promise<Arguments> {
  const io = createMemoryIo();
  let found: Arguments | undefined;
  await command(spec, (read) => {
    found = read;
    return 0;
  })(args, io);
  assert.ok(found !== undefined, io.complained());
  return found;
}
