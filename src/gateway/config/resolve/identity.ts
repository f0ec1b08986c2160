import type {
  IdentityKeys,
  IdentityProvider,
  IdentityRule,
} from "../config.ts";
import { readNamedFile, type ResolveTools } from "../environment.ts";
import { isIdentityCaller } from "../identity.ts";
import { createClaims, type Findings, type Path } from "@gateway/base/problems";
import type { IdentityFields } from "../schema/identity.ts";
import { parseKeySet } from "../schema/key_set.ts";
import type { TokenEntry } from "../schema/config_file.ts";
import type { AccessResolver } from "./caller.ts";
import { isLoopback } from "./server.ts";

interface ResolveIdentityOptions extends ResolveTools {
  readonly access: Pick<AccessResolver, "of">;
}

/**
 * Resolves the identity providers with their rules, and reads the files of their keys.
 *
 * @param all The entries in the file's order. `undefined` stands for an entry with problems.
 */
export async function resolveIdentity(
  all: readonly (IdentityFields | undefined)[],
  options: ResolveIdentityOptions,
): Promise<readonly IdentityProvider[]> {
  const claimIssuer = createClaims(
    options.findings,
    (other) =>
      `is also the issuer of ${other}. Write one entry, with a list of audiences.`,
  );
  const providers: IdentityProvider[] = [];
  for (const [index, fields] of all.entries()) {
    if (fields === undefined) continue;
    const path = ["identity", index];
    claimIssuer(fields.issuer, path, "issuer");
    reportSignIn(fields, path, { providers, findings: options.findings });
    const provider = await resolveProvider(fields, path, options);
    if (provider !== undefined) providers.push(provider);
  }
  return providers;
}

function reportSignIn(
  { issuer, sign_in: signIn }: IdentityFields,
  path: Path,
  { providers, findings }: {
    readonly providers: readonly IdentityProvider[];
    readonly findings: Findings;
  },
): void {
  if (signIn === undefined) return;
  const place = [...path, "sign_in"];
  if (providers.some((one) => one.signIn !== undefined)) {
    findings.problem(place, "is set twice. People sign in at one issuer.");
  }
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer)) {
    findings.problem(place, "needs an issuer that is a URL.");
  }
}

async function resolveProvider(
  fields: IdentityFields,
  path: Path,
  options: ResolveIdentityOptions,
): Promise<IdentityProvider | undefined> {
  const { issuer, audience: [first, ...more] } = fields;
  const rules = resolveRules(fields.rules, path, options);
  const keys = await resolveKeys(fields, path, options);
  if (keys === undefined || first === undefined) return undefined;
  return {
    issuer,
    audiences: [first, ...more],
    keys,
    nameClaim: fields.name,
    rules,
    signIn: fields.sign_in,
  };
}

function resolveRules(
  rules: IdentityFields["rules"],
  path: Path,
  options: ResolveIdentityOptions,
): readonly IdentityRule[] {
  const { findings, access } = options;
  const forAll = rules.findIndex(({ when = {} }) =>
    Object.keys(when).length === 0
  );
  return rules.map((rule, position) => {
    const place = [...path, "rules", position];
    if (forAll !== -1 && position > forAll) {
      findings.warn(
        place,
        `is never used: rules[${forAll}] before it is for everybody.`,
      );
    }
    return { when: rule.when ?? {}, ...access.of(rule, place) };
  });
}

const DISCOVERY_PATH = "/.well-known/openid-configuration";

async function resolveKeys(
  { issuer, jwks_url: url, jwks_file: file }: IdentityFields,
  path: Path,
  options: ResolveIdentityOptions,
): Promise<IdentityKeys | undefined> {
  const { findings } = options;
  if (url !== undefined && file !== undefined) {
    findings.problem(
      [...path, "jwks_file"],
      "must not be set with jwks_url. Keep one of them.",
    );
  }
  if (file !== undefined) {
    return await readKeys(file, [...path, "jwks_file"], options);
  }
  if (url !== undefined) {
    warnOfPlainHttp(url, [...path, "jwks_url"], findings);
    return { kind: "url", url };
  }
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer)) {
    findings.problem(
      [...path, "jwks_url"],
      "is missing. The issuer is no URL, so its keys cannot be found.",
    );
    return undefined;
  }
  warnOfPlainHttp(issuer, [...path, "issuer"], findings);
  const discovery = issuer.replace(/\/$/, "") + DISCOVERY_PATH;
  return { kind: "discovery", url: discovery };
}

async function readKeys(
  file: string,
  place: Path,
  { readFile, findings }: ResolveIdentityOptions,
): Promise<IdentityKeys | undefined> {
  const text = await readNamedFile(file, { readFile, findings, place });
  if (text === undefined) return undefined;
  const keys = parseKeySet(text);
  if (keys !== undefined && keys.length > 0) return { kind: "file", keys };
  findings.problem(
    place,
    keys === undefined
      ? "must name a file with a JSON Web Key Set."
      : "names a file without a public key for signatures.",
  );
  return undefined;
}

/** Warns of a URL without TLS, because an attacker on the network could replace the keys. */
function warnOfPlainHttp(url: string, path: Path, findings: Findings): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || isLoopback(hostname)) return;
  findings.warn(
    path,
    "fetches keys without TLS, so that the network could replace them. Use https:.",
  );
}

/** Reports tokens with a name that a caller of an identity provider could have. */
export function reportIdentityNames(
  tokens: readonly TokenEntry[],
  { identity, findings }: {
    readonly identity: readonly (IdentityFields | undefined)[];
    readonly findings: Findings;
  },
): void {
  const entries = identity.filter((entry) => entry !== undefined);
  for (const { fields: token, path } of tokens) {
    if (token === undefined || !isIdentityCaller(token.name, entries)) continue;
    findings.problem(
      [...path, "name"],
      "ends with an issuer in parentheses, as the names of that issuer's callers do. Choose another.",
    );
  }
}
