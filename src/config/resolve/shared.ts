import type { SharedConfig } from "../config.ts";
import { isLoopback } from "../exposure.ts";
import { type ReadFile, readNamedFile } from "../named_file.ts";
import type { Findings } from "../problems.ts";
import type { FileFields } from "../schema/config_file.ts";

type SharedFields = NonNullable<NonNullable<FileFields["general"]>["shared"]>;

/** What {@linkcode resolveShared} needs besides the fields. */
export interface ResolveSharedOptions {
  readonly readFile: ReadFile;
  readonly findings: Findings;
}

const DEFAULT_PORT = 6379;

/** Reads the address of the store and the files that are named; no message holds the password. */
export async function resolveShared(
  fields: SharedFields | undefined,
  options: ResolveSharedOptions,
): Promise<SharedConfig | undefined> {
  if (fields === undefined) return undefined;
  const url = new URL(fields.url);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const tls = url.protocol === "rediss:";
  const password = await resolvePassword(fields, url, options);
  if (!tls && !isLoopback(host)) {
    options.findings.warn(
      ["shared", "url"],
      "reaches another machine without TLS, so that the password and who uses what can be read on the way: use rediss:",
    );
  }
  if (!tls && fields.ca !== undefined) {
    options.findings.problem(["shared", "ca"], "needs a url with rediss:");
  }
  return {
    host,
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    tls,
    ca: await resolveCa(fields.ca, options),
    username: url.username === "" ? undefined : decode(url.username),
    password,
    database: Number(url.pathname.slice(1)),
    prefix: fields.prefix,
  };
}

async function resolvePassword(
  { password, password_file: file }: SharedFields,
  url: URL,
  { readFile, findings }: ResolveSharedOptions,
): Promise<string | undefined> {
  const written = url.password === "" ? undefined : decode(url.password);
  const given = [
    ["url", written],
    ["password", password],
    ["password_file", file],
  ].filter(([, value]) => value !== undefined);
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    findings.problem(
      ["shared", String(second[0])],
      `must not stand beside the password in ${first[0]}`,
    );
  }
  if (file === undefined) return password ?? written;
  const place = ["shared", "password_file"];
  const text = await readNamedFile(file, { readFile, findings, place });
  if (text === undefined || text.trim() !== "") return text?.trim();
  findings.problem(place, "must name a file that holds the password");
  return undefined;
}

async function resolveCa(
  path: string | undefined,
  { readFile, findings }: ResolveSharedOptions,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const place = ["shared", "ca"];
  const text = await readNamedFile(path, { readFile, findings, place });
  if (text === undefined || text.includes("CERTIFICATE-----")) return text;
  findings.problem(place, "must name a PEM file that holds certificates");
  return undefined;
}

/** A part of a URL; what is encoded wrongly stands for itself. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
