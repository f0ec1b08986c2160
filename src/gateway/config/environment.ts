import type { Findings, Path } from "@gateway/base/problems";

/**
 * Reads a text file that the configuration names. A relative path is relative to the configuration file. Rejects when
 * the file cannot be read.
 */
export type ReadFile = (path: string) => Promise<string>;

/**
 * Returns the files that match a pattern with `*` and `?`, sorted. A pattern without these characters is returned as it
 * is. Names and patterns are relative to the configuration file. Rejects when the folder of the pattern cannot be read.
 */
export type ListFiles = (pattern: string) => Promise<readonly string[]>;

const REASON_BY_ERROR: Readonly<Record<string, string>> = {
  NotFound: "does not exist",
  PermissionDenied: "may not be read by this user",
  NotCapable: "lies outside what this program is allowed to read",
  IsADirectory: "is a directory",
  NotRegularFileError: "is a FIFO, a socket or a device, not a regular file",
  TypeError: "is not UTF-8 text",
};

/** The means to resolve a part of the configuration that names files. */
export interface ResolveTools {
  readonly readFile: ReadFile;
  readonly findings: Findings;
}

/** A file that the configuration names. */
interface NamedFile extends ResolveTools {
  /** The location of the path in the configuration. */
  readonly place: Path;
  /** The form of the file's text, and words for such a file: `PEM file that holds certificates`. Default: any text. */
  readonly form?: readonly [RegExp, string];
}

/**
 * Reads a file that the configuration names.
 *
 * @returns The text, or `undefined` after reporting why the file cannot be used.
 */
export async function readNamedFile(
  path: string,
  { readFile, findings, place, form: [form, name] = [/^/, ""] }: NamedFile,
): Promise<string | undefined> {
  try {
    const text = await readFile(path);
    if (form.test(text)) return text;
    findings.problem(place, `must name a ${name}.`);
    return undefined;
  } catch (error) {
    findings.problem(
      place,
      `names a file that ${
        readFault(error)
      }. Create it, or name another: a path such as keys/anthropic begins at the folder of this file.`,
    );
    return undefined;
  }
}

/** Returns the reason why a file cannot be read, as the end of a sentence. */
export function readFault(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  return REASON_BY_ERROR[name] ?? "cannot be read";
}

/** Returns the value of an environment variable, or `undefined` when it is unset. */
export type Environment = (name: string) => string | undefined;

const REFERENCE_REGEXP = /\$\$\{|\$\{([^}]*)\}?/g;
const VARIABLE_REGEXP = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces every `${NAME}` in `text` by the environment variable of that name. `$${` yields the characters `${`. The
 * value of a variable is not expanded again.
 *
 * @param report Receives each problem: a reference without a valid name, or a variable that is unset or empty. Such a
 * reference is not replaced.
 */
export function expandVariables(
  text: string,
  { env, report }: {
    readonly env: Environment;
    readonly report: (message: string) => void;
  },
): string {
  if (!text.includes("${")) return text;
  return text.replaceAll(REFERENCE_REGEXP, (reference: string, name) => {
    if (reference === "$${") return "${";
    if (!reference.endsWith("}") || !VARIABLE_REGEXP.test(name)) {
      report(
        "holds a ${ that names no environment variable. Write ${NAME}, or $${ for the characters themselves.",
      );
      return reference;
    }
    const value = env(name);
    if (value !== undefined && value !== "") return value;
    const state = value === undefined ? "is not set" : "is empty";
    report(`needs the environment variable ${name}, which ${state}.`);
    return reference;
  });
}
