import { readYaml } from "@gateway/gateway/config";
import { isMapping, listAt, textAt } from "@gateway/base/problems";
import { stringifyYaml } from "@gateway/base/yaml";
import { CommandFailed } from "../arguments.ts";

/** An entry of `tokens` in a file of the configuration. */
export interface StaffEntry {
  readonly name: string;
}

/** The file that people are added to. */
interface StaffFile {
  readonly path: string;
  /** The text of the file; `undefined` if the file does not exist. */
  readonly text: string | undefined;
  /** The groups of each person in the file. */
  readonly groupsByName: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads the file that people are added to.
 *
 * @throws {CommandFailed} When the file is not a file of tokens, or cannot be read.
 */
export async function readStaffFile(path: string): Promise<StaffFile> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new CommandFailed(`Cannot read ${path}: it cannot be opened.`);
  });
  const entries = text === undefined || text.trim() === ""
    ? []
    : entriesIn(text);
  if (entries === undefined) {
    throw new CommandFailed(
      `Cannot read ${path}: it is not a file with \`tokens\`. Name a new file, or one that this command wrote.`,
    );
  }
  return {
    path,
    text: text?.trim() === "" ? undefined : text,
    groupsByName: new Map(
      entries.map((entry) => [textAt(entry, "name") ?? "", groupsOf(entry)]),
    ),
  };
}

/** Returns the entries in the text of a file; `undefined` when the file is not a file of tokens. */
function entriesIn(text: string): readonly unknown[] | undefined {
  const yaml = readYaml(text);
  return !("problem" in yaml) && isMapping(yaml.value) &&
      Array.isArray(yaml.value.tokens)
    ? yaml.value.tokens
    : undefined;
}

function groupsOf(entry: unknown): readonly string[] {
  const group = textAt(entry, "group");
  const groups = listAt(entry, "group").filter((one) =>
    typeof one === "string"
  );
  return group === undefined ? groups : [group];
}

/** Returns a file for `include` with these entries. */
export function staffText(entries: readonly StaffEntry[]): string {
  return "# yaml-language-server: $schema=../tokens.schema.json\n" +
    "# For editors that read that line: `model-gateway schema --included > tokens.schema.json`.\n" +
    "# The hashes of tokens. `include` in gateway.yaml names this file. Only the gateway needs to read it.\n" +
    stringifyYaml({ tokens: entries });
}

/** Returns a line for each token: the name, a tab and the token. */
export function secretsText(
  made: readonly { readonly entry: StaffEntry; readonly token: string }[],
): string {
  return made.map(({ entry, token }) => `${entry.name}\t${token}\n`).join("");
}

/**
 * Writes new tokens to a new file that only its owner can read, and adds the tokens' entries to the file of people. The
 * file of people is replaced in one step, and keeps its owner and mode. If the replacement fails, the file of tokens is
 * removed.
 *
 * @throws {CommandFailed} When nothing was written.
 */
export async function writeTokenFiles(
  staff: StaffFile,
  { entries, secrets, secretsPath }: {
    readonly entries: readonly StaffEntry[];
    /** The text of the file of tokens. */
    readonly secrets: string;
    readonly secretsPath: string;
  },
): Promise<void> {
  const text = withEntries(staff, entries);
  await writeNew(secretsPath, secrets);
  try {
    await replace(staff.path, text);
  } catch (error) {
    await Deno.remove(secretsPath);
    throw error;
  }
}

/** Returns the text of the file with more entries. Comments and other keys stay as they are. */
function withEntries(
  { path, text }: StaffFile,
  entries: readonly StaffEntry[],
): string {
  if (text === undefined) return staffText(entries);
  const [, ...lines] = stringifyYaml({ tokens: entries }).split("\n");
  const longer = `${text.trimEnd()}\n${lines.join("\n")}`;
  const expected = [...entriesIn(text) ?? [], ...entries];
  if (JSON.stringify(entriesIn(longer)) === JSON.stringify(expected)) {
    return longer;
  }
  throw new CommandFailed(
    `Cannot add to ${path}: its \`tokens\` are not a list of blocks at the end of the file, indented by two spaces. Move them there, or name a new file.`,
  );
}

/** The mode of a file that only its owner can read. */
const PRIVATE_MODE = 0o600;

async function writeNew(path: string, text: string): Promise<void> {
  const options = { createNew: true, mode: PRIVATE_MODE };
  await Deno.writeTextFile(path, text, options).catch(async (error) => {
    // On a full disk, a part of the text may have been written.
    const isOther = error instanceof Deno.errors.AlreadyExists;
    if (!isOther) await Deno.remove(path).catch(() => {});
    throw new CommandFailed(`Cannot write ${path}: ${writeFault(error)}`);
  });
}

async function replace(path: string, text: string): Promise<void> {
  const old = await Deno.stat(path).catch(() => undefined);
  const target = old === undefined ? path : await Deno.realPath(path);
  const draft = `${target}.new`;
  await writeNew(draft, text);
  try {
    if (typeof old?.mode === "number") {
      await Deno.chmod(draft, old.mode & 0o777);
    }
    if (typeof old?.uid === "number") {
      await Deno.chown(draft, old.uid, old.gid);
    }
    await Deno.rename(draft, target);
  } catch (error) {
    await Deno.remove(draft);
    throw new CommandFailed(`Cannot replace ${path}: ${writeFault(error)}`);
  }
}

function writeFault(error: unknown): string {
  const { AlreadyExists, NotFound, PermissionDenied } = Deno.errors;
  if (error instanceof AlreadyExists) {
    return "it exists already. Remove it if nobody needs it any more.";
  }
  if (error instanceof NotFound) return "its folder does not exist. Make it.";
  return error instanceof PermissionDenied || error instanceof
      Deno.errors.NotCapable
    ? "this user may not write there."
    : "the system refused to write it.";
}
