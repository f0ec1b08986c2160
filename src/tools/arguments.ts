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
  /** The values of the given options. Of a repeated option, only the last value counts. */
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

/** The error of a command that failed. People see the message unchanged, so it consists of whole sentences. */
export class CommandFailed extends Error {
  override readonly name: string = "CommandFailed";
}

/** Runs a command with the arguments after its name. Returns the exit code. */
export type Run<Tools> = (
  args: readonly string[],
  tools: Tools,
) => Promise<number>;

/**
 * Returns a command that parses its arguments before it runs. If the arguments are wrong or the run fails, the command
 * writes the reason.
 *
 * @param options The options that the command accepts; default: the options in its help.
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
 * @throws {BadArguments} For the first wrong argument. For a misspelled option, the message suggests the right name.
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
      // The error does not repeat the word, because the word may be a secret.
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

/**
 * Returns the reason for an unknown option. Only the part that looks like a name is quoted: the rest may be a secret.
 */
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
