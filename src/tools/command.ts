import { endSentence } from "@gateway/base/text";

/** An option of a command. */
export interface OptionSpec {
  /** The name, without hyphens. */
  readonly name: string;
  /** The placeholder of the option's value in a usage line, such as `FILE`; absent for an option without a value. */
  readonly value?: string;
  /** The accepted values; absent when any value is accepted. */
  readonly choices?: readonly string[];
  /** The option's effect, in a few words. */
  readonly summary: string;
}

/** The arguments and the help of a command. */
export interface CommandSpec {
  readonly name: string;
  /** The placeholders after the command's name in its usage line, such as `new NAME`. */
  readonly operands?: string;
  /** The words that shell completion offers for the operands. */
  readonly words?: readonly string[];
  /** True when the operands may be file names. */
  readonly takesFiles?: boolean;
  /** The command's effect, in one line. */
  readonly summary: string;
  readonly options: readonly OptionSpec[];
  /** Further paragraphs of the command's help. */
  readonly details?: readonly string[];
}

/** A command of the program. */
export interface Command {
  readonly spec: CommandSpec;
  /**
   * Runs the command with the arguments after its name.
   *
   * @returns The exit code.
   */
  run(args: readonly string[], io: CliIo): number | Promise<number>;
}

/** Returns true for an argument that requests a command's help. */
export function isHelp(argument: string): boolean {
  return argument === "--help" || argument === "-h";
}

/** Returns the usage line of a command. */
export function synopsis({ name, operands, options }: CommandSpec): string {
  const parts = options.map((option) => `[${optionWords(option)}]`);
  return ["model-gateway", name, operands, ...parts]
    .filter((part) => part !== undefined)
    .join(" ");
}

/** Returns the help of one command: the command's usage line, effect and options. */
export function commandHelp(spec: CommandSpec): string {
  const { summary, options, details = [] } = spec;
  const rows = options.map((option) =>
    [`  ${optionWords(option)}`, option.summary] as const
  );
  const width = Math.max(0, ...rows.map(([words]) => words.length)) + 2;
  const list = rows.map(([words, meaning]) => words.padEnd(width) + meaning);
  return [
    usageText(spec),
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(list.length === 0 ? [] : [list.join("\n")]),
    ...details,
  ].join("\n\n") + "\n";
}

/** The longest line of a help, in characters. */
const MAX_LINE = 88;

/** Returns the usage of a command, broken between options into lines that fit a terminal. */
function usageText(spec: CommandSpec): string {
  const words = `usage: ${synopsis(spec)}`.split(/ (?=\[)/);
  let line = "";
  const lines: string[] = [];
  for (const word of words) {
    if (line !== "" && line.length + 1 + word.length > MAX_LINE) {
      lines.push(line);
      line = " ".repeat(6);
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

function optionWords({ name, value, choices }: OptionSpec): string {
  const shown = choices?.join("|") ?? value;
  return shown === undefined ? `--${name}` : `--${name} ${shown}`;
}

/**
 * Writes an error about the arguments of a command, then the command's usage line and a pointer to its help.
 *
 * @param fault The reason, as the end of a sentence.
 * @returns The exit code for bad usage.
 */
export function badArguments(
  fault: string,
  spec: CommandSpec,
  { writeError }: Pick<CliIo, "writeError">,
): number {
  writeError(
    `Cannot run ${spec.name}: ${endSentence(fault)}\n` +
      `${usageText(spec)}\n` +
      `Run model-gateway ${spec.name} --help for more.\n`,
  );
  return EXIT.badUsage;
}

/** The input and output of a command, besides files. */
export interface CliIo {
  /** Writes to standard output. Returns false when the reader of the output has closed it. */
  readonly write: (text: string) => boolean;
  /** Writes to standard error. */
  readonly writeError: (text: string) => void;
  readonly env: (name: string) => string | undefined;
}

/** The exit codes of the process (docs/design.md#command-line). */
export const EXIT = { good: 0, failed: 1, badUsage: 2 } as const;
