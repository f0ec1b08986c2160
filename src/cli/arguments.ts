import { parseArgs } from "node:util";
import { suggestion } from "../config/problems.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";

/** The parsed arguments of a command. */
interface Arguments {
  /** The values of the given options; of a repeated option, the last one. */
  readonly values: ReadonlyMap<string, string>;
  /** The given options that take no value. */
  readonly flags: ReadonlySet<string>;
  /** The arguments that are not options, in order; empty for a command without operands. */
  readonly operands: readonly string[];
}

/**
 * Parses the arguments of a command.
 *
 * @returns The arguments, or the first fault in them, with a suggestion for a misspelled option.
 */
export function readArguments(
  { operands: takesOperands, options }: Pick<
    CommandSpec,
    "operands" | "options"
  >,
  args: readonly string[],
): Arguments | { readonly fault: string } {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      options.map(({ name, value, choices }) => [
        name,
        { type: value ?? choices ? "string" : "boolean" },
      ]),
    ),
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string>();
  const flags = new Set<string>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") {
      // The error does not repeat the word: it may be a secret.
      if (takesOperands === undefined) {
        return { fault: "it takes options only" };
      }
      operands.push(token.value);
    }
    if (token.kind !== "option") continue;
    const { rawName, value, inlineValue } = token;
    const option = options.find(({ name }) => `--${name}` === rawName);
    if (option === undefined) {
      return { fault: unknownOption(rawName, options) };
    }
    if (!takesValue(option)) {
      if (value !== undefined) return { fault: `${rawName} takes no value` };
      flags.add(option.name);
      continue;
    }
    const isMissing = !inlineValue && value?.startsWith("-") === true;
    const fault = isMissing || value === undefined || value === ""
      ? needsValue(option)
      : wrongChoice(option, value);
    if (fault !== undefined) return { fault };
    values.set(option.name, value ?? "");
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
