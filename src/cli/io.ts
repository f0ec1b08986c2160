/** What a command reads and writes besides files. */
export interface CliIo {
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Writes to standard error. */
  readonly writeError: (text: string) => void;
  readonly env: (name: string) => string | undefined;
}

/** What the process ends with (docs/design.md#command-line). */
export const EXIT = { good: 0, failed: 1, badUsage: 2 } as const;
