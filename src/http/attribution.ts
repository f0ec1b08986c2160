import type { HeaderFields } from "../core/header_fields.ts";
import type { Clock } from "../core/time/timers.ts";

/** The values of the attribution headers of a request, by the header's name in lower case. */
type Attribution = Readonly<Record<string, string>>;

/** Reads the headers that `server.attribution` names. */
export interface AttributionReader {
  /** @returns `undefined` when the request has no such header. */
  read(
    headers: HeaderFields,
    names: readonly string[],
  ): Attribution | undefined;
}

/** The longest value, in characters. */
const MAX_LENGTH = 64;

/** The number of values of a header on one day. Further ones are logged as {@linkcode OTHER}, so that sums stay small. */
const MAX_VALUES = 1000;

const OTHER = "(other)";

const DAY_MS = 86_400_000;

/** Creates a reader that has seen no value. */
export function createAttributionReader(
  clock: Pick<Clock, "now">,
): AttributionReader {
  /** The values of the running day, by header. */
  const seen = new Map<string, Set<string>>();
  let day = 0;

  function bounded(name: string, value: string): string {
    const today = Math.floor(clock.now() / DAY_MS);
    if (today !== day) seen.clear();
    day = today;
    const values = seen.get(name) ?? new Set();
    seen.set(name, values);
    if (!values.has(value) && values.size >= MAX_VALUES) return OTHER;
    values.add(value);
    return value;
  }

  return {
    read(headers, names) {
      if (names.length === 0) return undefined;
      const found = names.flatMap((name) => {
        const value = printable(headers.get(name) ?? "");
        return value === "" ? [] : [[name, bounded(name, value)] as const];
      });
      return found.length === 0 ? undefined : Object.fromEntries(found);
    },
  };
}

/** Keeps printable ASCII, because a header's other bytes have no known encoding. */
function printable(value: string): string {
  return value.replaceAll(/[^ -~]/g, "").trim().slice(0, MAX_LENGTH).trim();
}

/** Returns headers without some names, for a request that goes on to a provider. */
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
