import { readFault, tokenSchema, validate } from "@gateway/gateway/config";
import {
  problemLines,
  readText,
  type WrittenNames,
} from "@gateway/gateway/process";
import {
  createFindings,
  type Problem,
  quote,
  suggestion,
} from "@gateway/base/problems";
import { sha256Hex } from "@gateway/base/sha256";
import { type CliIo, EXIT } from "../command.ts";
import { parsePeople, type Person } from "./people.ts";
import type { StaffEntry } from "./token_files.ts";

/** The options that apply to each token. */
export interface TokenAccess {
  readonly group: readonly string[];
  /** The connections of the token; `undefined` when the token uses the connections of its groups. */
  readonly connections: readonly string[] | undefined;
  readonly models: readonly string[] | undefined;
  readonly expires: string | undefined;
}

/** The options with which a command creates its tokens. */
export interface TokenOptions {
  readonly access: TokenAccess;
  readonly written: WrittenNames;
  /** True when unknown columns of a list are skipped. */
  readonly ignoresColumns: boolean;
  /** The people in the file of `--to`, by name. These people keep their tokens. */
  readonly kept?: ReadonlyMap<string, unknown>;
}

/** A token and its entry for the configuration. */
interface Made {
  readonly token: string;
  readonly entry: StaffEntry;
}

type MadeOrProblems = Made | { readonly problems: readonly Problem[] };

/**
 * Makes a token for each person of a list, except the people in `kept`.
 *
 * @returns The new tokens and the people of the list. `undefined` when there are problems, which are then written.
 */
export async function makeMany(
  path: string,
  options: TokenOptions,
  io: CliIo,
): Promise<
  | { readonly made: readonly Made[]; readonly people: readonly Person[] }
  | undefined
> {
  const text = await readFrom(path, readText, io);
  if (text === undefined) return undefined;
  const { people, problems: broken } = parsePeople(text, options);
  const problems = [...broken];
  const placeByName = new Map<string, string>();
  const made: Made[] = [];
  for (const person of people) {
    const { place, name } = person;
    const first = placeByName.get(name);
    if (first !== undefined) {
      const message = `is also the name in ${first}. Name it once.`;
      problems.push({ path: place, message });
      continue;
    }
    placeByName.set(name, place);
    if (options.kept?.has(name)) continue;
    const one = createPerson(person, options);
    if ("token" in one) made.push(one);
    else problems.push(...one.problems);
  }
  if (people.length === 0 && broken.length === 0) {
    problems.push({
      path: "",
      message: "has no names. Write one name a line.",
    });
  }
  if (problems.length === 0) return { made, people };
  refuse(problems, io);
  return undefined;
}

/** Creates the token of a person. The token has the groups of the options and the groups in the person's row. */
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

const TOKEN_BYTES = 32;

/** Creates a token and its entry. When the entry would make a configuration invalid, returns the problems instead. */
export function createEntry(
  name: string,
  { group, connections, models, expires }: TokenAccess,
): MadeOrProblems {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  const base64 = { alphabet: "base64url", omitPadding: true } as const;
  const token = `mg_${bytes.toBase64(base64)}`;
  const [only, ...more] = group;
  const entry = {
    name,
    sha256: sha256Hex(token),
    // Each entry has lists of its own, because YAML would write a shared list as an alias.
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

/** Returns a message when the configuration already has a token of this name. */
export function takenName(
  name: string,
  { tokens }: WrittenNames,
): readonly string[] {
  const file = tokens.get(name);
  return file === undefined ? [] : [
    `${
      quote(name)
    } has a token already, in ${file}. Create tokens only for other names.`,
  ];
}

/** Returns a message for each name that the configuration lacks. Ids of connections are not checked. */
export function unknownNames(
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

export function unknownGroups(
  names: readonly string[],
  { groups }: WrittenNames,
): readonly string[] {
  return unknownNames(names, groups && new Set(groups.keys()));
}

/**
 * Returns a message when a token would have no connections: neither the token nor any of its groups names a connection.
 */
export function unassigned(
  { group, connections }: TokenAccess,
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
  { group, connections }: TokenAccess,
): readonly string[] {
  if (groups === undefined || group.length > 0 || connections !== undefined) {
    return [];
  }
  return [
    "has no group, so its token would have every connection. Name the group, or use --group or --connections.",
  ];
}

const ID_REGEXP = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function problemsAt(
  path: string,
  messages: readonly string[],
): readonly Problem[] {
  return messages.map((message) => ({ path, message }));
}

/** Reads a file with `read`. When this fails, writes the reason and returns `undefined`. */
export async function readFrom<Value>(
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

export function refuse(problems: readonly Problem[], io: CliIo): number {
  io.writeError(`Cannot create a token:\n${problemLines(problems)}`);
  return EXIT.badUsage;
}
