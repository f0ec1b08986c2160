import type { Config, Connection } from "../../config/config.ts";
import { sha256Hex } from "../../core/sha256.ts";
import { sourceKey } from "../../limits/source_key.ts";

/** So many hexadecimal digits of a digest tell keys apart: 128 bits. */
const DIGEST_DIGITS = 32;

/**
 * So many tell whether a connection is read with the same credential: enough to notice another one, and by far too
 * few to guess it.
 */
const REVISION_DIGITS = 4;

/** What stands in the store instead of a name. */
export function digestOf(name: string): string {
  return sha256Hex(name).slice(0, DIGEST_DIGITS);
}

/**
 * What stands in the store for a connection: another one as soon as its address, credential or quota are configured
 * otherwise, so that nothing of before is held against it.
 */
export function connectionDigest(connection: Connection): string {
  const known = digests.get(connection);
  if (known !== undefined) return known;
  const revision = sha256Hex(sourceKey(connection)).slice(0, REVISION_DIGITS);
  const digest = digestOf(`${connection.id}\t${revision}`);
  digests.set(connection, digest);
  return digest;
}

/** A connection never changes: a reload makes others. */
const digests = new WeakMap<Connection, string>();

/** The connection that a digest stands for, if the configuration has it. */
export function connectionOf(
  digest: string,
  { connections }: Pick<Config, "connections">,
): Connection | undefined {
  return connections.find((one) => connectionDigest(one) === digest);
}

/** The name of the token that a digest stands for, if the configuration has it. */
export function tokenOf(
  digest: string,
  { callers }: Pick<Config, "callers">,
): string | undefined {
  const known = tokens.get(callers) ?? new Map(
    [...callers.values()].map(({ name }) => [digestOf(name), name]),
  );
  tokens.set(callers, known);
  return known.get(digest);
}

/** The names of the tokens of a configuration by their digests. */
const tokens = new WeakMap<Config["callers"], ReadonlyMap<string, string>>();
