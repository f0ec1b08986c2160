import { readFault } from "../../config/environment.ts";
import { createFindings, type Problem } from "../../config/problems.ts";
import { tokenSchema } from "../../config/schema/token.ts";
import { validate } from "../../config/schema/problems.ts";
import { sha256Hex } from "../../core/sha256.ts";
import { stringifyYaml } from "../../core/std.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { problemLines, readText } from "./config_file.ts";

/** The arguments and the help of `token`. */
export const TOKEN: CommandSpec = {
  name: "token",
  operands: "new [NAME]",
  words: ["new"],
  summary: "create a token and print its entry for gateway.yaml",
  options: [{
    name: "many",
    value: "FILE",
    summary: "create a token for each name in a file, one a line",
  }, {
    name: "group",
    value: "NAME",
    summary: "put the tokens into this group, whose limits they share",
  }],
  details: [
    "The token is printed only once. gateway.yaml holds only its SHA-256.",
    "With --many, standard output has a file for `include`, and standard error the names\nand tokens, with a tab between them.",
  ],
};

const TOKEN_BYTES = 32;

/**
 * `token new NAME`: creates a token, and prints it with its entry for the configuration. The entry holds only the
 * hash of the token. With `--many FILE`, it does so for each name in a file; with `--group`, entries name the group.
 *
 * @returns The exit code.
 */
export async function runToken(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readArguments(TOKEN, args);
  if ("fault" in read) return badUsage(read.fault, TOKEN, io);
  const [action, name, ...rest] = read.operands;
  const many = read.values.get("many");
  const isOne = (name !== undefined) !== (many !== undefined);
  if (action !== "new" || !isOne || rest.length > 0) {
    return badUsage(
      "it needs the word new, and one name or --many FILE",
      TOKEN,
      io,
    );
  }
  const group = read.values.get("group");
  return many === undefined
    ? printOne(`${name}`, { group, io })
    : await printMany(many, { group, io });
}

/** The group of the new tokens, if any, and the output. */
interface Printing {
  readonly group: string | undefined;
  readonly io: CliIo;
}

function printOne(name: string, { group, io }: Printing): number {
  const made = createEntry(name, group);
  if ("problems" in made) return refuse(made.problems, io);
  io.write(
    `The token, shown only once:\n\n  ${made.token}\n\n` +
      "Put this below `tokens:` in gateway.yaml or an included file, in place of an entry with the same name:\n\n" +
      stringifyYaml([made.entry]).replaceAll(/^(?=.)/gm, "  "),
  );
  return EXIT.good;
}

/** Prints the entries of all names to standard output, and their tokens to standard error; or only the problems. */
async function printMany(
  path: string,
  { group, io }: Printing,
): Promise<number> {
  let text: string;
  try {
    text = await readText(path);
  } catch (error) {
    io.writeError(`Cannot read ${path}: it ${readFault(error)}.\n`);
    return EXIT.badUsage;
  }
  const lineByName = new Map<string, number>();
  const problems: Problem[] = [];
  const made: Made[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const name = line.trim();
    if (name === "" || name.startsWith("#")) continue;
    const place = `line ${index + 1}`;
    const first = lineByName.get(name);
    if (first !== undefined) {
      const message = `is also the name in line ${first}. Name it once.`;
      problems.push({ path: place, message });
      continue;
    }
    lineByName.set(name, index + 1);
    const one = createEntry(name, group);
    if ("token" in one) made.push(one);
    else {problems.push(
        ...one.problems.map((fault) => ({ ...fault, path: place })),
      );}
  }
  if (lineByName.size === 0) {
    problems.push({ path: "", message: "has no names. Write one a line." });
  }
  if (problems.length > 0) return refuse(problems, io);
  io.write(
    "# The hashes of tokens. `include` in gateway.yaml names this file.\n" +
      stringifyYaml({ tokens: made.map(({ entry }) => entry) }),
  );
  io.writeError(
    made.map(({ entry, token }) => `${entry.name}\t${token}\n`).join(""),
  );
  return EXIT.good;
}

/** A token and its entry for the configuration. */
interface Made {
  readonly token: string;
  readonly entry: {
    readonly name: string;
    readonly sha256: string;
    readonly connections: readonly string[];
    readonly group?: string;
  };
}

function createEntry(
  name: string,
  group: string | undefined,
): Made | { readonly problems: readonly Problem[] } {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  const token = createToken(bytes);
  const entry = {
    ...{ name, sha256: sha256Hex(token), connections: ["*"] },
    ...(group === undefined ? {} : { group }),
  };
  const findings = createFindings();
  validate(tokenSchema, { value: entry, path: [], findings });
  const { problems } = findings;
  return problems.length > 0 ? { problems } : { token, entry };
}

function refuse(problems: readonly Problem[], io: CliIo): number {
  io.writeError(`Cannot create a token:\n${problemLines(problems)}`);
  return EXIT.badUsage;
}

/** Makes a token of random bytes: `mg_` and their base64url. */
export function createToken(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return `mg_${
    base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  }`;
}
