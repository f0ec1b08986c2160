import { suggestion } from "@gateway/base/problems";
import {
  badArguments,
  type CliIo,
  type CommandSpec,
  EXIT,
  type OptionSpec,
} from "./command.ts";

/** The parsed arguments of a command. */
export interface Arguments {
  /** The values of the given options; of a repeated option, the last one. */
  readonly values: ReadonlyMap<string, string>;
  /** The given options that take no value. */
  readonly flags: ReadonlySet<string>;
  /** The arguments that are not options, in order; empty for a command without operands. */
  readonly operands: readonly string[];
}

/** The error of wrong arguments. Its message is the reason, as the end of a sentence. */
export class BadArguments extends Error {
  override readonly name = "BadArguments";
}

/** The error of a command that failed. Its message is written as it is, in whole sentences for people. */
export class CommandFailed extends Error {
  override readonly name: string = "CommandFailed";
}

/** Runs a command with the arguments after its name. Returns the exit code. */
export type Run<Tools> = (
  args: readonly string[],
  tools: Tools,
) => Promise<number>;

/**
 * Returns a command that parses its arguments before it runs, and writes the reason when they are wrong or it fails.
 *
 * @param options The options that it understands; default: those of its help.
 */
export function command<Tools extends CliIo>(
  spec: CommandSpec,
  run: (
    read: Arguments,
    tools: Tools,
    args: readonly string[],
  ) => number | Promise<number>,
  options: readonly OptionSpec[] = spec.options,
): Run<Tools> {
  return async (args, tools) => {
    try {
      return await run(readArguments({ ...spec, options }, args), tools, args);
    } catch (error) {
      if (error instanceof BadArguments) {
        return badArguments(error.message, spec, tools);
      }
      if (!(error instanceof CommandFailed)) throw error;
      tools.writeError(`${error.message}\n`);
      return EXIT.failed;
    }
  };
}

/**
 * Parses the arguments of a command.
 *
 * @throws {BadArguments} For the first fault in them, with a suggestion for a misspelled option.
 */
function readArguments(
  { operands: takesOperands, options }: Pick<
    CommandSpec,
    "operands" | "options"
  >,
  args: readonly string[],
): Arguments {
  const values = new Map<string, string>();
  const flags = new Set<string>();
  const operands: string[] = [];
  const rest = [...args];
  let areOperands = false;
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (areOperands || next === "-" || !next.startsWith("-")) {
      // The error does not repeat the word: it may be a secret.
      if (takesOperands === undefined) {
        throw new BadArguments("it takes options only");
      }
      operands.push(next);
      continue;
    }
    if (next === "--") {
      areOperands = true;
      continue;
    }
    const [, rawName = "", given] = /^([^=]*)(?:=(.*))?$/s.exec(next) ?? [];
    const option = options.find(({ name }) => `--${name}` === rawName);
    if (option === undefined) {
      throw new BadArguments(unknownOption(rawName, options));
    }
    if (!takesValue(option)) {
      if (given !== undefined) {
        throw new BadArguments(`${rawName} takes no value`);
      }
      flags.add(option.name);
      continue;
    }
    const value = given ?? (rest[0]?.startsWith("-") ? "" : rest.shift() ?? "");
    const fault = value === ""
      ? needsValue(option)
      : wrongChoice(option, value);
    if (fault !== undefined) throw new BadArguments(fault);
    values.set(option.name, value);
  }
  return { values, flags, operands };
}

/** Returns the fault of an unknown option. It repeats only what looks like a name: the rest may be a secret. */
function unknownOption(rawName: string, options: readonly OptionSpec[]) {
  const [shown = ""] = /^-*[a-z-]*/i.exec(rawName) ?? [];
  const known = options.map(({ name }) => `--${name}`);
  return `there is no option ${shown}${suggestion(shown, known)}`;
}

function takesValue({ value, choices }: OptionSpec): boolean {
  return value !== undefined || choices !== undefined;
}

function needsValue({ name, value, choices }: OptionSpec): string {
  return choices === undefined
    ? `--${name} needs a value (${value})`
    : `--${name} must be ${choices.join(" or ")}`;
}

function wrongChoice(
  { name, choices }: OptionSpec,
  value: string,
): string | undefined {
  return choices === undefined || choices.includes(value)
    ? undefined
    : `--${name} must be ${choices.join(" or ")}`;
}
