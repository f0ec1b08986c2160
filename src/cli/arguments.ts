import { parseArgs } from "node:util";
import { suggestion } from "../config/problems.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";

/** What the arguments of a command say. */
interface Arguments {
  /** The values of the options that were given; the last one wins. */
  readonly values: ReadonlyMap<string, string>;
  /** Which of the options without a value were given. */
  readonly flags: ReadonlySet<string>;
  /** What is no option, in order; none where the command takes none. */
  readonly operands: readonly string[];
}

/**
 * Reads the arguments of a command.
 *
 * @returns What they say, or what is wrong with them: the first fault, with the option that may have been meant.
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
      // A stray word may be a secret, too.
      if (takesOperands === undefined) {
        return { fault: "it takes no argument but its options" };
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
    const isLost = !inlineValue && value?.startsWith("-") === true;
    const fault = isLost || value === undefined || value === ""
      ? needsValue(option)
      : wrongChoice(option, value);
    if (fault !== undefined) return { fault };
    values.set(option.name, value ?? "");
  }
  return { values, flags, operands };
}

/** What to say of an option that nobody knows. No more of it is repeated than looks like a name: it may be a secret. */
function unknownOption(rawName: string, options: readonly OptionSpec[]) {
  const [shown = ""] = /^-*[a-z-]*/i.exec(rawName) ?? [];
  const known = options.map(({ name }) => `--${name}`);
  return `unknown option ${shown}${suggestion(shown, known)}`;
}

function takesValue({ value, choices }: OptionSpec): boolean {
  return value !== undefined || choices !== undefined;
}

function needsValue({ name, value, choices }: OptionSpec): string {
  return choices === undefined
    ? `--${name} needs a value: ${value}`
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
