import type { Connection } from "../config/config.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { oncePer } from "../core/collections/once_per.ts";
import { type HeaderGroup, nameMatcher } from "./header_names.ts";
import { upstreamHeaders } from "./request_headers.ts";

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
