import type { Connection } from "../config/config.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { oncePer } from "../core/memo.ts";
import { saneWaitHeader } from "../core/retry_after.ts";
import type { Clock } from "../core/time/timers.ts";
import {
  type HeaderGroup,
  namedByConnection,
  nameMatcher,
  WITHHELD_FROM_CALLER,
  WITHHELD_FROM_UPSTREAM,
} from "./header_names.ts";
import type { Secrets } from "./secrets.ts";

const isWithheld = nameMatcher(WITHHELD_FROM_UPSTREAM);

/**
 * The headers of an upstream request: the caller's as an open list less the withheld ones, then the
 * connection's credential, then its fixed headers, which win.
 *
 * @returns Pairs; each name once.
 */
export function upstreamHeaders(
  caller: HeaderFields,
  connection: Connection,
): [string, string][] {
  const dropped = namedByConnection(caller);
  const own = ownHeadersOf(connection);
  const pairs: [string, string][] = [];
  caller.forEach((value, name) => {
    const staysHere = isWithheld(name) || dropped.includes(name) ||
      own.names.has(name);
    if (!staysHere) pairs.push([name, value]);
  });
  pairs.push(...own.pairs);
  return pairs;
}

/** What a connection adds of its own to every request. */
const ownHeadersOf = oncePer(({ auth, headers }: Connection) => {
  const own = new Map([["accept-encoding", "identity"]]);
  if (auth.scheme === "bearer") own.set("authorization", `Bearer ${auth.key}`);
  if (auth.scheme === "x-api-key") own.set("x-api-key", auth.key);
  for (const [name, value] of Object.entries(headers)) {
    own.set(name.toLowerCase(), value);
  }
  return { names: new Set(own.keys()), pairs: [...own] };
});

const isWithheldFromCaller = nameMatcher(WITHHELD_FROM_CALLER);

/** What decides about an upstream's headers beside their names. */
interface AnswerHeadersOptions {
  /**
   * Whether the upstream knows the model by another name; then `openai-model` stays back, which Codex reads as a
   * warning about the account.
   */
  readonly isRenamed: boolean;
  /** What no value may hold. */
  readonly secrets: Pick<Secrets, "areIn">;
  /** For a wait that ends at a date. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Returns the headers of an upstream's answer that the caller gets (docs/http.md#headers). A wait longer than the
 * timers of clients hold is shortened, and one that no quota can mean is left out.
 */
export function answerHeaders(
  upstream: HeaderFields,
  { isRenamed, secrets, clock }: AnswerHeadersOptions,
): [string, string][] {
  const dropped = namedByConnection(upstream);
  const pairs: [string, string][] = [];
  upstream.forEach((value, name) => {
    const staysHere = isWithheldFromCaller(name) || dropped.includes(name) ||
      (isRenamed && name === "openai-model") || secrets.areIn(value);
    const shown = staysHere ? undefined : shownValue(name, value, clock);
    if (shown !== undefined) pairs.push([name, shown]);
  });
  return pairs;
}

function shownValue(
  name: string,
  value: string,
  clock: Pick<Clock, "now">,
): string | undefined {
  return name === "retry-after" || name === "retry-after-ms"
    ? saneWaitHeader(name, value, clock.now())
    : value;
}

const ABOUT_THE_BODY: HeaderGroup = {
  reason:
    "describes the caller's body or the SDK that wrote it, not what is sent in its place",
  names: ["accept", "content-type"],
  prefixes: ["x-stainless-"],
};

/** What a translated request is sent as. */
export interface TranslatedHeadersOptions {
  /** What the upstream's protocol asks for in headers of its own. */
  readonly ownHeaders: readonly [name: string, value: string][];
  /**
   * What the names of headers begin with that belong to a protocol, in lower case; the same array for every request,
   * by which is remembered how to recognise them.
   */
  readonly protocolPrefixes: readonly string[];
  readonly stream: boolean;
}

/** The headers of a translated upstream request: those of a native one without the caller's protocol's own. */
export function translatedHeaders(
  caller: HeaderFields,
  connection: Connection,
  { ownHeaders, protocolPrefixes, stream }: TranslatedHeadersOptions,
): [string, string][] {
  const staysHere = ofAnyProtocol(protocolPrefixes);
  const pairs = upstreamHeaders(caller, connection).filter(([name]) =>
    !staysHere(name) || Object.hasOwn(connection.headers, name)
  );
  const accept = stream ? "text/event-stream" : "application/json";
  add("content-type", "application/json", pairs);
  add("accept", accept, pairs);
  for (const [name, value] of ownHeaders) add(name, value, pairs);
  return pairs;
}

const ofAnyProtocol = oncePer((prefixes: readonly string[]) =>
  nameMatcher([ABOUT_THE_BODY, {
    reason: "belongs to a protocol",
    names: [],
    prefixes,
  }])
);

/** What is there already wins, but a list of beta features has room for both. */
function add(name: string, value: string, pairs: [string, string][]): void {
  const place = pairs.findIndex(([known]) => known === name);
  const known = pairs[place]?.[1];
  if (known === undefined) pairs.push([name, value]);
  else if (name.endsWith("-beta")) pairs[place] = [name, `${known},${value}`];
}
