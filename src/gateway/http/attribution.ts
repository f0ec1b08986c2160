import type { HeaderFields } from "@gateway/base/header_fields";
import type { Clock } from "@gateway/base/time/timers";

/** The values of the attribution headers of a request, by the header's name in lower case. */
type Attribution = Readonly<Record<string, string>>;

/** Reads the headers that `server.attribution` names. */
export interface AttributionReader {
  /**
   * @param caller The digest of the caller. The reader counts the new values of each caller.
   * @returns `undefined` when the request has no such header.
   */
  read(
    headers: HeaderFields,
    names: readonly string[],
    caller: string,
  ): Attribution | undefined;
}

/** The longest value, in characters. */
const MAX_LENGTH = 64;

/**
 * The most values of a header on one day. Further values are logged as {@linkcode OTHER}, so that sums stay small. But
 * if a caller with few values sends a new value, this value replaces the newest value of the caller with the most
 * values.
 */
const MAX_VALUES = 1000;

const OTHER = "(other)";

const DAY_MS = 86_400_000;

/** Creates a reader that has seen no value. */
export function createAttributionReader(
  clock: Pick<Clock, "now">,
): AttributionReader {
  /** For each header: the values of the current day, and for each caller the values that this caller sent first. */
  const seen = new Map<string, ReturnType<typeof emptyDay>>();
  let day = 0;

  function bounded(name: string, value: string, caller: string): string {
    const today = Math.floor(clock.now() / DAY_MS);
    if (today !== day) seen.clear();
    day = today;
    const { values, shares } = seen.get(name) ?? emptyDay();
    seen.set(name, { values, shares });
    if (values.has(value)) return value;
    const own = shares.get(caller) ?? [];
    if (values.size >= MAX_VALUES) {
      const most = [...shares.values()]
        .reduce((one, other) => other.length > one.length ? other : one, own);
      if (most.length <= own.length + 1) return OTHER;
      values.delete(most.pop() ?? "");
    }
    values.add(value);
    own.push(value);
    shares.set(caller, own);
    return value;
  }

  return {
    read(headers, names, caller) {
      if (names.length === 0) return undefined;
      const found = names.flatMap((name) => {
        const value = printable(headers.get(name) ?? "");
        return value === ""
          ? []
          : [[name, bounded(name, value, caller)] as const];
      });
      return found.length === 0 ? undefined : Object.fromEntries(found);
    },
  };
}

function emptyDay() {
  return { values: new Set<string>(), shares: new Map<string, string[]>() };
}

/** Returns the printable ASCII of a header's value. Other bytes have no known encoding. */
function printable(value: string): string {
  return value.replaceAll(/[^ -~]/g, "").trim().slice(0, MAX_LENGTH).trim();
}

/** Removes the named headers from a request that goes on to a provider. */
export function withoutHeaders(
  headers: HeaderFields,
  names: readonly string[],
): HeaderFields {
  if (!names.some((name) => headers.has(name))) return headers;
  const kept = new Map<string, string>();
  headers.forEach((value, name) => {
    if (!names.includes(name)) kept.set(name, value);
  });
  return kept;
}
