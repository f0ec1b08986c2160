import { isDeepStrictEqual } from "node:util";
import { mapValues } from "@gateway/base/std";
import type { Config } from "./config.ts";
import type { Group } from "./usage_limits.ts";

/** The differences between two configurations: paths such as `connections[GLM].auth.key`, without values. */
export interface ConfigChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** The most paths of one kind (added, removed or changed) to list, so that a log line stays short. */
const MAX_PATHS = 100;

/** Compares two configurations for the audit of their changes. */
export function configChanges(before: Config, after: Config): ConfigChanges {
  const changes = {
    added: new Array<string>(),
    removed: new Array<string>(),
    changed: new Array<string>(),
  };
  compare("", namedParts(before), namedParts(after));
  return mapValues(changes, cut);

  function compare(path: string, one: unknown, other: unknown): void {
    if (isDeepStrictEqual(one, other)) return;
    if (one === undefined) changes.added.push(path);
    else if (other === undefined) changes.removed.push(path);
    else if (one instanceof Map && other instanceof Map) {
      for (const key of new Set([...one.keys(), ...other.keys()])) {
        compare(`${path}[${key}]`, one.get(key), other.get(key));
      }
    } else if (isRecord(one) && isRecord(other)) {
      for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
        const name = key.replace(
          /[A-Z]/g,
          (letter) => `_${letter.toLowerCase()}`,
        );
        compare(path === "" ? name : `${path}.${name}`, one[key], other[key]);
      }
    } else changes.changed.push(path);
  }
}

function cut(paths: readonly string[]): readonly string[] {
  const more = paths.length - MAX_PATHS;
  return more > 0 ? [...paths.slice(0, MAX_PATHS), `${more} more`] : paths;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** Returns a configuration with its lists as maps by name. Leaves out the parts that repeat connections. */
function namedParts(
  { connections, callers, identity, pools: _, listedModels: __, ...rest }:
    Config,
): Record<string, unknown> {
  const tokens = new Map<string, Record<string, unknown>>();
  const groups = new Map<string, Group>();
  for (const [hash, { sha256: _, groups: own, ...caller }] of callers) {
    for (const group of own) groups.set(group.name, group);
    const { values } = tokens.get(caller.name) ?? {};
    tokens.set(caller.name, {
      ...caller,
      values: values instanceof Set ? values.add(hash) : new Set([hash]),
      groups: own.map(({ name }) => name),
    });
  }
  return {
    ...rest,
    connections: new Map(connections.map((one) => [one.name, {
      ...one,
      otherKeys: undefined,
      models: new Map(one.models.map((model) => [model.id, model])),
    }])),
    tokens,
    groups,
    identity: new Map(identity.map((one) => [one.issuer, one])),
  };
}
