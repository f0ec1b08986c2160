import { sha256Hex } from "@gateway/base/sha256";
import type { Candidate } from "./candidate.ts";

/** Returns true when a connection of some candidate has several keys. */
export function hasKeys(candidates: readonly Candidate[]): boolean {
  return candidates.some((one) => keyOf(one) !== undefined);
}

/**
 * Orders the keys of each connection for a conversation, by weighted rendezvous hashing. The weight of a key is its
 * share of the conversations. The order is the same in every thread and replica. If a key is removed, only the
 * conversations on this key move.
 *
 * @param id The id of the conversation, or else of the caller.
 */
export function spreadKeys(
  candidates: readonly Candidate[],
  id: string,
): readonly Candidate[] {
  const byConnection = Map.groupBy(
    candidates.toSorted((one, other) => rankOf(one, id) - rankOf(other, id)),
    (one) => keyOf(one)?.connection,
  );
  return candidates.map((one) => {
    const of = keyOf(one)?.connection;
    return of === undefined ? one : byConnection.get(of)?.shift() ?? one;
  });
}

const RANK_DIGITS = 12;

/**
 * Returns an exponentially distributed number. The chance that it is the least of several is proportional to its
 * weight.
 */
function rankOf(one: Candidate, id: string): number {
  const weight = keyOf(one)?.weight ?? 1;
  const hash = sha256Hex(`${id} ${one.deployment.connection.id}`);
  const part = Number.parseInt(hash.slice(0, RANK_DIGITS), 16);
  return -Math.log((part + 1) / (16 ** RANK_DIGITS + 1)) / weight;
}

function keyOf({ deployment }: Candidate) {
  return deployment.connection.keyOf;
}
