import type { Config } from "../../config/config.ts";
import type { Notice } from "../notice.ts";
import { connectionDigest, connectionOf, digestOf, tokenOf } from "./keys.ts";
import type { StoredNotice } from "./wire.ts";

/** A notice as it is stored; `undefined` for what is not. */
export function toStored(
  notice: Notice,
  config: Config,
): StoredNotice | undefined {
  if (notice.kind === "store") return undefined;
  const { kind } = notice;
  const connectionId = kind === "cool_down"
    ? notice.coolDown.connectionId
    : notice.connectionId;
  const found = config.connections.find((one) => one.id === connectionId);
  if (found === undefined) return undefined;
  const connection = connectionDigest(found);
  if (kind === "polled") {
    const { reading, ttlMs } = notice;
    return { kind, connection, reading, ttlMs };
  }
  if (kind === "harvested") {
    return { kind, connection, reading: notice.reading };
  }
  const { model, token, ms, isBench } = notice.coolDown;
  return {
    ...{ kind, connection, ms, isBench },
    ...(model === undefined ? {} : { model }),
    ...(token === undefined ? {} : { token: digestOf(token) }),
  };
}

/** The notice for the names of this configuration; `undefined` where it does not have them. */
export function fromStored(
  stored: StoredNotice,
  config: Config,
): Notice | undefined {
  const connectionId = connectionOf(stored.connection, config)?.id;
  if (connectionId === undefined) return undefined;
  if (stored.kind === "polled") {
    const { kind, reading, ttlMs } = stored;
    return { kind, connectionId, reading, ttlMs };
  }
  if (stored.kind === "harvested") {
    return { kind: stored.kind, connectionId, reading: stored.reading };
  }
  const { kind, model, ms, isBench } = stored;
  const token = stored.token && tokenOf(stored.token, config);
  if (stored.token !== undefined && token === undefined) return undefined;
  return { kind, coolDown: { connectionId, model, token, ms, isBench } };
}

/** What is left of a notice after so long; `undefined`: nothing. */
export function leftAfter(
  stored: StoredNotice,
  passedMs: number,
): StoredNotice | undefined {
  if (stored.kind === "harvested") return stored;
  const isPolled = stored.kind === "polled";
  const leftMs = (isPolled ? stored.ttlMs : stored.ms) - passedMs;
  if (leftMs <= 0) return undefined;
  return isPolled ? { ...stored, ttlMs: leftMs } : { ...stored, ms: leftMs };
}
