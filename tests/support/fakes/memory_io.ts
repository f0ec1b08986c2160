import type { CliIo } from "../../../src/tools/command.ts";

/** The output of a command, in memory. */
export interface MemoryIo extends CliIo {
  /** Returns the standard output. */
  written(): string;
  /** Returns the standard error. */
  complained(): string;
}

/** Creates a {@linkcode MemoryIo} with these environment variables. */
export function createMemoryIo(
  environment: Readonly<Record<string, string>> = {},
): MemoryIo {
  let written = "";
  let complained = "";
  return {
    write(text) {
      written += text;
      return true;
    },
    writeError: (text) => void (complained += text),
    env: (name) => environment[name],
    written: () => written,
    complained: () => complained,
  };
}
