import type {
  Caller,
  IdentityProvider,
  IdentityRule,
} from "../../config/config.ts";
import { identityCallerName } from "../../config/identity.ts";
import { isPlainName } from "@gateway/base/caller_names";
import { oncePer } from "@gateway/base/memo";
import { sha256Hex } from "@gateway/base/sha256";
import type { Claims } from "./jwt.ts";

/**
 * Returns the claims that a dotted name may mean: a claim with this whole name, or a claim inside of an object. The
 * whole name may be meant because names such as `https://example.com/roles` contain dots.
 */
function claimsNamed(
  name: string,
  claims: unknown,
): readonly unknown[] {
  if (typeof claims !== "object" || claims === null) return [];
  const found: unknown[] = [];
  if (Object.hasOwn(claims, name)) found.push(Reflect.get(claims, name));
  for (
    let dot = name.indexOf(".");
    dot !== -1;
    dot = name.indexOf(".", dot + 1)
  ) {
    const first = name.slice(0, dot);
    if (!Object.hasOwn(claims, first)) continue;
    found.push(...claimsNamed(name.slice(dot + 1), Reflect.get(claims, first)));
  }
  return found;
}

/** Returns the first rule whose conditions all hold: each claim equals its value or is a list that contains it. */
export function ruleFor(
  claims: Claims,
  rules: readonly IdentityRule[],
): IdentityRule | undefined {
  return rules.find(({ when }) =>
    Object.entries(when).every(([name, wanted]) =>
      claimsNamed(name, claims).some((claim) =>
        Array.isArray(claim) ? claim.includes(wanted) : claim === wanted
      )
    )
  );
}

/**
 * Returns the claims that the rules need, but that the issuer left out because they are too long (OpenID Connect Core
 * 1.0, section 5.6.2). Entra ID leaves out the groups of a person who is in more than 200 groups.
 */
export function claimsLeftOut(
  claims: Claims,
  rules: readonly IdentityRule[],
): readonly string[] {
  const { _claim_names: names, hasgroups } = claims;
  const leftOut = new Set([
    ...(typeof names === "object" && names !== null ? Object.keys(names) : []),
    ...(hasgroups === true ? ["groups"] : []),
  ]);
  const wanted = rules.flatMap(({ when }) => Object.keys(when));
  return [...new Set(wanted)].filter((name) => leftOut.has(name));
}

const MAX_NAME_LENGTH = 256;

/** Returns a caller's name in the claims, with the issuer; `undefined` when the name is missing or unfit for a log. */
export function nameIn(
  claims: Claims,
  { nameClaim, issuer }: IdentityProvider,
): string | undefined {
  const [name] = claimsNamed(nameClaim, claims);
  if (typeof name !== "string" || name === "") return undefined;
  if (name.length > MAX_NAME_LENGTH || !isPlainName(name)) return undefined;
  // UTF-8 encodes all lone surrogates alike, so two names would share a hash.
  if (!name.isWellFormed()) return undefined;
  return identityCallerName(name, issuer);
}

/** The number of callers that are remembered for each rule. */
const MAX_CALLERS = 10_000;

/** The callers of a rule by name. Each caller is one object, so the caller's limits are prepared once. */
const callersOf = oncePer((_rule: IdentityRule) => new Map<string, Caller>());

/** Returns the caller of this name under a rule. @param name The name with its issuer. */
export function callerOf(rule: IdentityRule, name: string): Caller {
  const callers = callersOf(rule);
  const known = callers.get(name);
  if (known !== undefined) return known;
  const { when: _when, inherited: _inherited, ...access } = rule;
  const caller = {
    ...access,
    name,
    // No token has this text: a header holds no line feed.
    sha256: sha256Hex(`jwt\n${name}`),
    expiresAtMs: undefined,
    isUnlisted: true,
  };
  const [oldest] = callers.keys();
  if (oldest !== undefined && callers.size >= MAX_CALLERS) {
    callers.delete(oldest);
  }
  callers.set(name, caller);
  return caller;
}
