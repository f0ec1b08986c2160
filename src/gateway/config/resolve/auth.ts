import type { UpstreamAuth } from "../config.ts";
import { readNamedFile, type ResolveTools } from "../environment.ts";
import { type AuthScheme, SERVICES } from "@gateway/services";
import {
  isAws,
  type TokenExchangeSettings,
  type TokenFor,
} from "../token_exchange.ts";
import { type Path, valueAt } from "@gateway/base/problems";
import type { ConnectionFields } from "../schema/connection.ts";

interface ResolveAuthOptions extends ResolveTools {
  /** The path of the connection. For {@linkcode resolveKey}, the path of the mapping with the key. */
  readonly path: Path;
  /** The path of the mapping with the key; default: `auth` of the connection. */
  readonly authPath?: Path;
  /** Default: no exchange gives a token. */
  readonly tokenFor?: TokenFor | undefined;
}

const REMEDY = "Give a key, or `scheme: none` for a provider without keys.";

/**
 * Returns the scheme of a connection: the configured scheme, the service's, or `bearer` if there is a key. Without a
 * key, a server whose key is optional has the scheme `none`.
 */
export function schemeOf(
  { auth, service }: ConnectionFields,
): AuthScheme | undefined {
  const hasKey =
    (auth?.key ?? auth?.key_file ?? auth?.keys ?? auth?.exchange) !== undefined;
  // An exchange gives a bearer token or a signature, even if the service's keys have another header.
  if (auth?.exchange !== undefined) return auth.scheme ?? "bearer";
  const { authScheme, isKeyOptional } = SERVICES[service];
  if (auth?.scheme !== undefined) return auth.scheme;
  if (isKeyOptional && !hasKey) return "none";
  return authScheme ?? (hasKey ? "bearer" : undefined);
}

/**
 * Resolves the credential of a connection from its key or key file.
 *
 * @returns `undefined` after reporting a problem. No message holds the key.
 */
async function resolveAuth(
  fields: ConnectionFields,
  options: ResolveAuthOptions,
): Promise<UpstreamAuth | undefined> {
  const { findings } = options;
  const scheme = schemeOf(fields);
  const { authPath: path = [...options.path, "auth"] } = options;
  const { exchange, key, key_file: keyFile } = fields.auth ?? {};
  const place = [...path, key === undefined ? "key_file" : "key"];
  if (scheme === undefined) {
    const missing = fields.auth === undefined ? path : [...path, "key"];
    findings.problem(missing, `is missing. ${REMEDY}`);
    return undefined;
  }
  if (exchange !== undefined) {
    return await resolveTokenExchange(exchange, { fields, scheme }, options);
  }
  if (key === undefined && keyFile === undefined) {
    if (scheme === "none") return { scheme };
    findings.problem([...path, "key"], `is missing. ${REMEDY}`);
    return undefined;
  }
  if (scheme === "none") {
    findings.problem(place, "must not be set with `scheme: none`.");
    return undefined;
  }
  const credential = await resolveKey({ key, key_file: keyFile }, {
    ...options,
    path,
  });
  if (credential === undefined) return undefined;
  const isOauth = credential.startsWith(ANTHROPIC_OAUTH_PREFIX);
  if (scheme === "x-api-key" && isOauth) {
    findings.problem(
      place,
      "is an OAuth token, which Anthropic refuses in x-api-key. Use an API key. A token of workload identity federation needs `scheme: bearer`.",
    );
  } else if (isOauth) findings.warn(place, PLAN_WARNING.anthropic);
  if (fields.service === "codex") findings.warn(place, PLAN_WARNING.codex);
  return { scheme, key: credential };
}

/** A credential of a connection. `key` is set when the connection has several keys. */
interface KeyedAuth {
  readonly auth: UpstreamAuth;
  readonly key?: { readonly label: string; readonly weight: number };
}

/**
 * Resolves the credentials of a connection: a single one, or one for each entry of `keys`.
 *
 * @returns An empty list after reporting a problem.
 */
export async function resolveAuths(
  fields: ConnectionFields,
  options: ResolveAuthOptions,
): Promise<readonly KeyedAuth[]> {
  const { keys, ...rest } = fields.auth ?? {};
  if (keys === undefined) {
    const auth = await resolveAuth(fields, options);
    return auth === undefined ? [] : [{ auth }];
  }
  const place = [...options.path, "auth", "keys"];
  if ((rest.key ?? rest.key_file ?? rest.exchange) !== undefined) {
    const message = "must not be set with key, key_file or exchange.";
    options.findings.problem(place, message);
  }
  const found = new Map<string, KeyedAuth | undefined>();
  for (const [index, { name, weight, ...key }] of keys.entries()) {
    const authPath = [...place, index];
    const label = name ?? `${index + 1}`;
    const one = { ...fields, auth: { scheme: rest.scheme, ...key } };
    const auth = await resolveAuth(one, { ...options, authPath });
    if (found.has(label)) {
      const message = `is also the name of another key: ${label}.`;
      options.findings.problem([...authPath, "name"], message);
    }
    found.set(label, auth && { auth, key: { label, weight } });
  }
  const auths = [...found.values()].filter((one) => one !== undefined);
  return auths.length < found.size ? [] : auths;
}

/**
 * Resolves an exchange to its present token. If the exchange gives no token now, only warns, because a token may come
 * later.
 */
async function resolveTokenExchange(
  exchange: TokenExchangeSettings,
  { fields: { auth = {}, name }, scheme }: {
    readonly fields: ConnectionFields;
    readonly scheme: AuthScheme;
  },
  { path, readFile, tokenFor, findings }: ResolveAuthOptions,
): Promise<UpstreamAuth | undefined> {
  const place = [...path, "auth", "exchange"];
  if ((auth.key ?? auth.key_file) !== undefined || scheme === "none") {
    const message =
      "must not be set with key, key_file or `scheme: none`. Keep one of them.";
    findings.problem(place, message);
    return undefined;
  }
  if (isAws(exchange) && auth.scheme !== undefined) {
    const message = "must not be set: requests to AWS are signed. Remove it.";
    findings.problem([...path, "auth", "scheme"], message);
    return undefined;
  }
  const withKey = (key: string, expiresAtMs?: number): UpstreamAuth =>
    isAws(exchange)
      ? { scheme: "aws", key, exchange, expiresAtMs }
      : { scheme, key, exchange, expiresAtMs };
  if (tokenFor === undefined) {
    for (const keys of [["subject", "file"], ["token_file"]]) {
      const file = valueAt(exchange, keys);
      if (typeof file !== "string") continue;
      const named = { readFile, findings, place: [...place, ...keys] };
      await readNamedFile(file, named);
    }
    return withKey("");
  }
  const found = await tokenFor(exchange, name);
  if ("token" in found) return withKey(found.token, found.expiresAtMs);
  findings.warn(place, `gives no token now: ${found.reason}.`);
  return withKey("");
}

/**
 * The beginning of the OAuth tokens that `claude setup-token` prints. Tokens of workload identity federation have the
 * same beginning (platform.claude.com/docs/en/manage-claude/wif-reference).
 */
const ANTHROPIC_OAUTH_PREFIX = "sk-ant-oat01-";

/**
 * The warnings of credentials that may belong to one person's plan. Sources:
 * code.claude.com/docs/en/legal-and-compliance#authentication-and-credential-use, openai.com/policies/row-terms-of-use.
 */
const PLAN_WARNING = {
  anthropic:
    "is an OAuth token. If it is of a Claude plan, Anthropic forbids serving others with it, and closes accounts for that. Use an API key, workload identity federation or a cloud.",
  codex:
    "serves every caller with one ChatGPT account. OpenAI forbids sharing the account of a person. Use a service account of your workspace, or `service: openai` with an API key.",
};

/**
 * Returns a credential from the configuration or from a file of its own.
 *
 * @returns `undefined` when neither is configured, or after reporting a problem. No message holds the key.
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
    findings.problem([...path, "key_file"], "must not be set with key.");
    return undefined;
  }
  const credential = key ?? await keyFromFile(keyFile, options);
  if (credential === undefined) return undefined;
  const fault = keyFault(credential);
  if (fault === undefined) return credential;
  const message = key === undefined
    ? `names a file ${fault.ofFile}`
    : fault.ofKey;
  findings.problem([...path, key === undefined ? "key_file" : "key"], message);
  return undefined;
}

/** A text within quotation marks of any of three kinds. */
const QUOTED_REGEXP = /^(["'`]).*\1$/;

/** Returns the problem of a key in two wordings: one for a key in the configuration, one for a key in its own file. */
function keyFault(
  key: string,
): { readonly ofKey: string; readonly ofFile: string } | undefined {
  if (key === "") {
    return {
      ofKey: "is empty. Give a key.",
      ofFile: "that is empty. Write the key into it.",
    };
  }
  if (QUOTED_REGEXP.test(key)) {
    const remedy =
      "quotation marks, which would be sent as a part of it. Remove them.";
    return {
      ofKey: `is a key in literal ${remedy}`,
      ofFile: `with a key in ${remedy}`,
    };
  }
  if (isCredential(key)) return undefined;
  const form = "printable ASCII characters without spaces or line breaks.";
  return {
    ofKey: `must be a key of ${form}`,
    ofFile: `that must hold one key of ${form}`,
  };
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

const CREDENTIAL_REGEXP = /^[\x21-\x7e]{1,16384}$/;

/** Returns true when a text can be a credential in a header: printable ASCII without spaces, at most 16 KiB. */
export function isCredential(value: string): boolean {
  return CREDENTIAL_REGEXP.test(value);
}
