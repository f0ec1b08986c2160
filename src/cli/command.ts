/** An option of a command. */
export interface OptionSpec {
  /** Without its hyphens. */
  readonly name: string;
  /** What its value is called in a usage line, such as `FILE`; absent for an option without one. */
  readonly value?: string;
  /** The only values that it takes. */
  readonly choices?: readonly string[];
  /** What it does, in some words. */
  readonly summary: string;
}

/** What a command understands, for its arguments and its help alike. */
export interface CommandSpec {
  readonly name: string;
  /** Words that stand behind the name, such as `new NAME`. */
  readonly operands?: string;
  /** Words that may stand there, for the completion of a shell. */
  readonly words?: readonly string[];
  /** Whether names of files may stand there. */
  readonly takesFiles?: boolean;
  /** What it does, in one line. */
  readonly summary: string;
  readonly options: readonly OptionSpec[];
  /** What else its reader should know: paragraphs. */
  readonly details?: readonly string[];
}

/** A command of the program. */
export interface Command {
  readonly spec: CommandSpec;
  /**
   * Runs it with the arguments behind its name.
   *
   * @returns The exit code.
   */
  run(args: readonly string[], io: CliIo): number | Promise<number>;
}

/** One line that tells how a command is written. */
export function usageLine({ name, operands, options }: CommandSpec): string {
  const parts = options.map((option) => `[${optionWords(option)}]`);
  return ["model-gateway", name, operands, ...parts]
    .filter((part) => part !== undefined)
    .join(" ");
}

/** The help of one command: how it is written, what it does, and every option. */
export function commandHelp(spec: CommandSpec): string {
  const { summary, options, details = [] } = spec;
  const rows = options.map((option) =>
    [`  ${optionWords(option)}`, option.summary] as const
  );
  const width = Math.max(0, ...rows.map(([words]) => words.length)) + 2;
  const list = rows.map(([words, meaning]) => words.padEnd(width) + meaning);
  return [
    `usage: ${usageLine(spec)}`,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(list.length === 0 ? [] : [list.join("\n")]),
    ...details,
  ].join("\n\n") + "\n";
}

function optionWords({ name, value, choices }: OptionSpec): string {
  const shown = choices?.join("|") ?? value;
  return shown === undefined ? `--${name}` : `--${name} ${shown}`;
}

/**
 * Tells what is wrong with the arguments of a command, how it is written, and where its help is.
 *
 * @returns The exit code for bad usage.
 */
export function badUsage(
  fault: string,
  spec: CommandSpec,
  { writeError }: Pick<CliIo, "writeError">,
): number {
  writeError(
    `${fault}\nusage: ${
      usageLine(spec)
    }\nmodel-gateway ${spec.name} --help tells more\n`,
  );
  return EXIT.badUsage;
}

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
