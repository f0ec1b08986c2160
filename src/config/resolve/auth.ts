import type { UpstreamAuth } from "../config.ts";
import { isCredential } from "../http_header.ts";
import { type ReadFile, readNamedFile } from "../named_file.ts";
import type { Findings, Path } from "../problems.ts";
import type { ConnectionFields } from "../schema/connection.ts";
import { type AuthScheme, SERVICES } from "../services.ts";

/** What {@linkcode resolveAuth} needs besides the fields. */
export interface ResolveAuthOptions {
  /** Of the connection; for {@linkcode resolveKey} of what holds the key. */
  readonly path: Path;
  readonly readFile: ReadFile;
  readonly findings: Findings;
}

const HOW_TO_SAY = "give a key, or `scheme: none` for an upstream without one";

/** The scheme of a connection: its own, else its service's, else `bearer` where it has a key. */
export function schemeOf(
  { auth, service }: ConnectionFields,
): AuthScheme | undefined {
  const hasKey = (auth?.key ?? auth?.key_file) !== undefined;
  return auth?.scheme ?? SERVICES[service].authScheme ??
    (hasKey ? "bearer" : undefined);
}

/**
 * Finds the credential of a connection, from the key or from the file that holds it.
 *
 * @returns `undefined` after reporting what is wrong; no message holds the key.
 */
export async function resolveAuth(
  fields: ConnectionFields,
  options: ResolveAuthOptions,
): Promise<UpstreamAuth | undefined> {
  const { findings } = options;
  const scheme = schemeOf(fields);
  const path = [...options.path, "auth"];
  const { key, key_file: keyFile } = fields.auth ?? {};
  if (scheme === undefined) {
    const place = fields.auth === undefined ? path : [...path, "key"];
    findings.problem(place, `is missing; ${HOW_TO_SAY}`);
    return undefined;
  }
  if (scheme === "none") {
    if (key === undefined && keyFile === undefined) return { scheme };
    const place = [...path, key === undefined ? "key_file" : "key"];
    findings.problem(place, "must not stand beside `scheme: none`");
    return undefined;
  }
  if (key === undefined && keyFile === undefined) {
    findings.problem([...path, "key"], `is missing; ${HOW_TO_SAY}`);
    return undefined;
  }
  const credential = await resolveKey({ key, key_file: keyFile }, {
    ...options,
    path,
  });
  return credential === undefined ? undefined : { scheme, key: credential };
}

/**
 * A credential that stands in the configuration or in a file of its own.
 *
 * @returns `undefined` when there is neither, and after reporting what is wrong; no message holds the key.
 */
export async function resolveKey(
  { key, key_file: keyFile }: {
    readonly key?: string | undefined;
    readonly key_file?: string | undefined;
  },
  options: ResolveAuthOptions,
): Promise<string | undefined> {
  const { path, findings } = options;
  if (key !== undefined && keyFile !== undefined) {
    findings.problem([...path, "key_file"], "must not stand beside key");
    return undefined;
  }
  const credential = key ?? await keyFromFile(keyFile, options);
  if (credential === undefined || isCredential(credential)) return credential;
  findings.problem(
    [...path, key === undefined ? "key_file" : "key"],
    "must be a key of printable ASCII characters without spaces or line breaks",
  );
  return undefined;
}

async function keyFromFile(
  keyFile: string | undefined,
  { path, readFile, findings }: ResolveAuthOptions,
): Promise<string | undefined> {
  if (keyFile === undefined) return undefined;
  const place = [...path, "key_file"];
  const text = await readNamedFile(keyFile, { readFile, findings, place });
  return text?.trim();
}
