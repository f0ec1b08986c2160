import type { CliIo } from "../../../src/cli/command.ts";

/** What a command wrote, in memory. */
export interface MemoryIo extends CliIo {
  /** To standard output. */
  written(): string;
  /** To standard error. */
  complained(): string;
}

/** Creates a {@linkcode MemoryIo} with these environment variables. */
export function createMemoryIo(
  environment: Readonly<Record<string, string>> = {},
): MemoryIo {
  let written = "";
  let complained = "";
  return {
    write: (text) => void (written += text),
    writeError: (text) => void (complained += text),
    env: (name) => environment[name],
    written: () => written,
    complained: () => complained,
  };
}
