import { readFault } from "../../config/environment.ts";
import {
  createFindings,
  type Problem,
  quote,
  suggestion,
} from "../../config/problems.ts";
import { tokenSchema } from "../../config/schema/token.ts";
import { validate } from "../../config/schema/problems.ts";
import { sha256Hex } from "../../core/sha256.ts";
import { stringifyYaml } from "../../core/std.ts";
import { BadArguments, command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { problemLines, readText } from "./config_file.ts";
import {
  parsePeople,
  type Person,
  readWrittenNames,
  type WrittenNames,
} from "./people.ts";

/** The arguments and the help of `token`. */
export const TOKEN: CommandSpec = {
  name: "token",
  operands: "new [NAME]",
  words: ["new"],
  summary: "create a token and print its entry for gateway.yaml",
  options: [{
    name: "many",
    value: "FILE",
    summary: "create a token for each name in a file, one a line, or a CSV",
  }, {
    name: "ignore-columns",
    summary: "with --many: skip the columns that are not name and group",
  }, {
    name: "group",
    value: "NAMES",
    summary: "the groups of each token, with commas between them",
  }, {
    name: "connections",
    value: "NAMES",
    summary: "the connections that it may use; default: its groups', or all",
  }, {
    name: "models",
    value: "IDS",
    summary: "the models that it may use; default: its groups', or all",
  }, {
    name: "expires",
    value: "TIME",
    summary: "its expiry: a date, or a time with a zone",
  }, {
    name: "config",
    value: "FILE",
    summary: "reject names that it has, and groups without connections",
  }],
  details: [
    "The token is printed only once. gateway.yaml holds only its SHA-256.",
    "With --many, standard output has a file for `include`, and standard error the names\nand tokens, with a tab between them. Keep those private: `umask 077`.",
    "A CSV begins with the line name,group. Several groups have semicolons between them.\nA row without a group needs --group or --connections.",
  ],
};

const TOKEN_BYTES = 32;

/**
 * `token new NAME`: creates a token, and prints it with its entry for the configuration. The entry holds only the
 * hash of the token. With `--many FILE`, it does so for each name in a file. Other options set what the tokens may use.
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
    const config = values.get("config");
    const written = config === undefined
      ? NOTHING_WRITTEN
      : await readFrom(config, readWrittenNames, io);
    if (written === undefined) return EXIT.badUsage;
    const ignoresColumns = flags.has("ignore-columns");
    const options = { access: accessIn(values), written, ignoresColumns };
    const problems = optionProblems(options);
    if (problems.length > 0) return refuse(problems, io);
    return many === undefined
      ? printOne(`${name}`, options, io)
      : await printMany(many, options, io);
  },
);

const NOTHING_WRITTEN: WrittenNames = {
  tokens: new Map(),
  groups: undefined,
  connections: undefined,
};

/** Reads a file with `read`, or writes the reason why it cannot. */
async function readFrom<Value>(
  path: string,
  read: (path: string) => Promise<Value | undefined>,
  io: CliIo,
): Promise<Value | undefined> {
  try {
    const value = await read(path);
    if (value !== undefined) return value;
    io.writeError(`Cannot read ${path}: it is not a configuration.\n`);
  } catch (error) {
    io.writeError(`Cannot read ${path}: it ${readFault(error)}.\n`);
  }
  return undefined;
}

/** The options that apply to each token. */
interface Access {
  readonly group: readonly string[];
  /** `undefined` for those of the groups. */
  readonly connections: readonly string[] | undefined;
  readonly models: readonly string[] | undefined;
  readonly expires: string | undefined;
}

/** The parts of a command that each of its tokens needs. */
interface TokenOptions {
  readonly access: Access;
  readonly written: WrittenNames;
  /** True when unknown columns of a list are skipped. */
  readonly ignoresColumns: boolean;
}

function accessIn(values: ReadonlyMap<string, string>): Access {
  const list = (name: string) =>
    values.get(name)?.split(",").map((one) => one.trim());
  return {
    group: list("group") ?? [],
    connections: list("connections"),
    models: list("models"),
    expires: values.get("expires"),
  };
}

/** Returns the problems of the options, which would otherwise be repeated for each token. */
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

function problemsAt(
  path: string,
  messages: readonly string[],
): readonly Problem[] {
  return messages.map((message) => ({ path, message }));
}

/** Returns a message for each name that the configuration lacks. Ids of connections are not checked. */
function unknownNames(
  names: readonly string[],
  known: ReadonlySet<string> | undefined,
): readonly string[] {
  if (known === undefined) return [];
  return names
    .filter((name) => name !== "*" && !known.has(name) && !ID_REGEXP.test(name))
    .map((name) =>
      `${quote(name)} is not in the configuration${
        suggestion(name, known) || "."
      }`
    );
}

function unknownGroups(
  names: readonly string[],
  { groups }: WrittenNames,
): readonly string[] {
  return unknownNames(names, groups && new Set(groups.keys()));
}

/** Returns a message when a token would have no connections: it names none, and no group of it has some. */
function unassigned(
  { group, connections }: Access,
  { groups }: WrittenNames,
): readonly string[] {
  if (connections !== undefined || groups === undefined) return [];
  if (group.length === 0 || group.some((name) => groups.get(name) !== false)) {
    return [];
  }
  const names = group.map((name) => quote(name)).join(", ");
  return [
    `would have no connections: the group ${names} has none. Give the group some, or use --connections.`,
  ];
}

/** Returns a message when an empty cell of a list would give its token every connection. */
function ungrouped(
  groups: Person["groups"],
  { group, connections }: Access,
): readonly string[] {
  if (groups === undefined || group.length > 0 || connections !== undefined) {
    return [];
  }
  return [
    "has no group, so its token would have every connection. Name the group, or use --group or --connections.",
  ];
}

const ID_REGEXP = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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

/** Returns a message when the configuration has a token of this name. */
function takenName(name: string, { tokens }: WrittenNames): readonly string[] {
  const file = tokens.get(name);
  return file === undefined
    ? []
    : [`${quote(name)} has a token already, in ${file}. Take the name out.`];
}

/** Prints the entries of all names to standard output, and their tokens to standard error; or only the problems. */
async function printMany(
  path: string,
  options: TokenOptions,
  io: CliIo,
): Promise<number> {
  const text = await readFrom(path, readText, io);
  if (text === undefined) return EXIT.badUsage;
  const { people, problems: broken } = parsePeople(text, options);
  const problems = [...broken];
  const placeByName = new Map<string, string>();
  const made: Made[] = [];
  for (const person of people) {
    const { place, name } = person;
    const one = createPerson(person, options);
    const first = placeByName.get(name);
    if (first !== undefined) {
      const message = `is also the name in ${first}. Name it once.`;
      problems.push({ path: place, message });
    } else if ("token" in one) made.push(one);
    else problems.push(...one.problems);
    if (first === undefined) placeByName.set(name, place);
  }
  if (people.length === 0 && broken.length === 0) {
    problems.push({ path: "", message: "has no names. Write one a line." });
  }
  if (problems.length > 0) return refuse(problems, io);
  io.write(
    "# yaml-language-server: $schema=../tokens.schema.json\n" +
      "# For editors that read that line: `model-gateway schema --included > tokens.schema.json`.\n" +
      "# The hashes of tokens. `include` in gateway.yaml names this file. Only the gateway needs to read it.\n" +
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
  readonly entry: { readonly name: string };
}

type MadeOrProblems = Made | { readonly problems: readonly Problem[] };

/** Creates the token of a person, who is in the groups of the options and of the list. */
function createPerson(
  { place, name, groups }: Person,
  { access, written }: TokenOptions,
): MadeOrProblems {
  const group = [...new Set([...access.group, ...groups ?? []])];
  const made = createEntry(name, { ...access, group });
  const messages = [
    ..."problems" in made ? made.problems.map(({ message }) => message) : [],
    ...takenName(name, written),
    ...unknownGroups(groups ?? [], written),
    ...ungrouped(groups, { ...access, group }),
    ...unassigned({ ...access, group }, written),
  ];
  return messages.length === 0
    ? made
    : { problems: problemsAt(place, messages) };
}

function createEntry(
  name: string,
  { group, connections, models, expires }: Access,
): MadeOrProblems {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  const base64 = { alphabet: "base64url", omitPadding: true } as const;
  const token = `mg_${bytes.toBase64(base64)}`;
  const [only, ...more] = group;
  const entry = {
    name,
    sha256: sha256Hex(token),
    // Each entry has lists of its own: YAML writes a shared one as an alias.
    ...(only === undefined
      ? {}
      : { group: more.length === 0 ? only : [...group] }),
    ...(connections === undefined && only !== undefined
      ? {}
      : { connections: [...(connections ?? ["*"])] }),
    ...(models === undefined ? {} : { models: [...models] }),
    ...(expires === undefined ? {} : { expires_at: expires }),
  };
  const findings = createFindings();
  validate(tokenSchema, { value: entry, path: [], findings });
  if (name.includes("$")) {
    const message = "must not hold $, which begins a variable in gateway.yaml.";
    findings.problem(["name"], message);
  }
  const { problems } = findings;
  return problems.length > 0 ? { problems } : { token, entry };
}

function refuse(problems: readonly Problem[], io: CliIo): number {
  io.writeError(`Cannot create a token:\n${problemLines(problems)}`);
  return EXIT.badUsage;
}
