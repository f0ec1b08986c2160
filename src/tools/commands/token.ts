import type { Problem } from "@gateway/base/problems";
import { stringifyYaml } from "@gateway/base/yaml";
import { BadArguments, command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  createEntry,
  makeMany,
  problemsAt,
  readFrom,
  refuse,
  takenName,
  type TokenAccess,
  type TokenOptions,
  unassigned,
  unknownGroups,
  unknownNames,
} from "./make_tokens.ts";
import { readWrittenNames, type WrittenNames } from "@gateway/gateway/process";
import {
  readStaffFile,
  secretsText,
  staffText,
  writeTokenFiles,
} from "./token_files.ts";

/** The arguments and the help of `token`. */
export const TOKEN: CommandSpec = {
  name: "token",
  operands: "new [NAME]",
  words: ["new"],
  summary: "create a token and print its entry for gateway.yaml",
  options: [{
    name: "many",
    value: "FILE",
    summary:
      "create a token for each name in a file: one name a line, or a CSV",
  }, {
    name: "ignore-columns",
    summary: "with --many: skip columns other than name and group",
  }, {
    name: "to",
    value: "FILE",
    summary: "with --many: add the entries to this file; its entries stay",
  }, {
    name: "secrets",
    value: "FILE",
    summary: "with --to: write the tokens to this new file, with mode 600",
  }, {
    name: "group",
    value: "NAMES",
    summary: "the groups of each token, with commas between them",
  }, {
    name: "connections",
    value: "NAMES",
    summary: "each token's connections; default: those of its groups, or all",
  }, {
    name: "models",
    value: "IDS",
    summary: "each token's models; default: those of its groups, or all",
  }, {
    name: "expires",
    value: "TIME",
    summary: "the expiry of each token: a date, or a time with a zone",
  }, {
    name: "config",
    value: "FILE",
    summary: "check the names and groups against this configuration",
  }],
  details: [
    "The token is printed only once. gateway.yaml holds only its SHA-256.",
    "With --to and --secrets, people who are in the file keep their tokens. Without\nthese options, standard output has a file for `include`, and standard error the names\nand tokens, with a tab between them. Keep the tokens private: `umask 077`.",
    "A CSV begins with the line name,group. Several groups have semicolons between them.\nA row without a group needs --group or --connections.",
  ],
};

/**
 * `token new NAME`: creates a token, and prints the token with its entry for the configuration. The entry holds only
 * the hash of the token. With `--many FILE`, the command creates a token for each name in the file. Other options set
 * what the tokens may use.
 *
 * @returns The exit code.
 */
export const runToken: Run<CliIo> = command(
  TOKEN,
  async ({ operands, values, flags }, io) => {
    const [action, name, ...rest] = operands;
    const many = values.get("many");
    const isOne = (name !== undefined) !== (many !== undefined);
    if (action !== "new" || !isOne || rest.length > 0) {
      throw new BadArguments(
        "it needs the word new, and one name or --many FILE",
      );
    }
    const to = values.get("to");
    const secretsPath = values.get("secrets");
    if ((to === undefined) !== (secretsPath === undefined)) {
      throw new BadArguments("--to and --secrets need each other");
    }
    if (to !== undefined && many === undefined) {
      throw new BadArguments("--to needs --many FILE");
    }
    const config = values.get("config");
    const written = config === undefined
      ? NOTHING_WRITTEN
      : await readFrom(config, readWrittenNames, io);
    if (written === undefined) return EXIT.badUsage;
    const ignoresColumns = flags.has("ignore-columns");
    const options = { access: accessIn(values), written, ignoresColumns };
    const problems = optionProblems(options);
    if (problems.length > 0) return refuse(problems, io);
    if (many === undefined) return printOne(`${name}`, options, io);
    if (to === undefined || secretsPath === undefined) {
      return await printMany(many, options, io);
    }
    return await addMany(many, options, { to, secretsPath, io });
  },
);

const NOTHING_WRITTEN: WrittenNames = {
  tokens: new Map(),
  groups: undefined,
  connections: undefined,
};

function accessIn(values: ReadonlyMap<string, string>): TokenAccess {
  const list = (name: string) =>
    values.get(name)?.split(",").map((one) => one.trim());
  return {
    group: list("group") ?? [],
    connections: list("connections"),
    models: list("models"),
    expires: values.get("expires"),
  };
}

/** Returns the problems of the options that all tokens share, so that no problem is repeated for each token. */
function optionProblems(
  { access, written }: TokenOptions,
): readonly Problem[] {
  const made = createEntry("name", access);
  const invalid = "problems" in made ? made.problems : [];
  return [
    ...invalid.map(({ path, message }) => ({
      path: path.replace(/^(\w+?)(?:_at)?\b/, "--$1"),
      message,
    })),
    ...problemsAt("--group", unknownGroups(access.group, written)),
    ...problemsAt(
      "--connections",
      unknownNames(access.connections ?? [], written.connections),
    ),
  ];
}

function printOne(name: string, options: TokenOptions, io: CliIo): number {
  const made = createEntry(name, options.access);
  const messages = [
    ...takenName(name, options.written),
    ...unassigned(options.access, options.written),
  ];
  const problems = "problems" in made
    ? made.problems
    : problemsAt("name", messages);
  if (problems.length > 0 || "problems" in made) return refuse(problems, io);
  io.write(
    `The token, shown only once:\n\n  ${made.token}\n\n` +
      "Put this below `tokens:` in gateway.yaml or an included file, in place of an entry with the same name:\n\n" +
      stringifyYaml([made.entry]).replaceAll(/^(?=.)/gm, "  "),
  );
  return EXIT.good;
}

/**
 * Prints the entries of all names to standard output, and the tokens to standard error. When there are problems, prints
 * only the problems.
 */
async function printMany(
  path: string,
  options: TokenOptions,
  io: CliIo,
): Promise<number> {
  const list = await makeMany(path, options, io);
  if (list === undefined) return EXIT.badUsage;
  io.write(staffText(list.made.map(({ entry }) => entry)));
  io.writeError(secretsText(list.made));
  return EXIT.good;
}

/**
 * Adds the people of a list to a file, except the people who are already in the file. Writes the new tokens to another
 * file.
 */
async function addMany(
  path: string,
  options: TokenOptions,
  { to, secretsPath, io }: {
    readonly to: string;
    readonly secretsPath: string;
    readonly io: CliIo;
  },
): Promise<number> {
  const staff = await readStaffFile(to);
  const kept = staff.groupsByName;
  const list = await makeMany(path, { ...options, kept }, io);
  if (list === undefined) return EXIT.badUsage;
  const { made, people } = list;
  if (made.length > 0) {
    const entries = made.map(({ entry }) => entry);
    const secrets = secretsText(made);
    await writeTokenFiles(staff, { entries, secrets, secretsPath });
  }
  const there = people.filter(({ name }) => kept.has(name));
  const listed = new Set(people.map(({ name }) => name));
  const { group } = options.access;
  const moved = there.filter(({ name, groups }) =>
    groups !== undefined &&
    new Set([...group, ...groups])
        .symmetricDifference(new Set(kept.get(name))).size > 0
  );
  io.write(
    [
      made.length === 0
        ? `Added nobody to ${to}, and wrote no ${secretsPath}.`
        : `Added to ${to}: ${namesOf(made.map(({ entry }) => entry))}.\n` +
          `Their tokens are in ${secretsPath}. Hand them out, then delete it.`,
      there.length > 0 && `Kept: ${namesOf(there)}.`,
      moved.length > 0 &&
      `In other groups in the list: ${namesOf(moved)}. Change their entries.`,
      [...kept.keys()].some((name) => !listed.has(name)) &&
      `Not in the list: ${
        [...kept.keys()].filter((name) => !listed.has(name)).join(", ")
      }. They keep their access until you remove their entries.`,
    ].filter((line) => line !== false).map((line) => `${line}\n`).join(""),
  );
  return EXIT.good;
}

function namesOf(people: readonly { readonly name: string }[]): string {
  return people.map(({ name }) => name).join(", ");
}
