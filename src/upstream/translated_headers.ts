import type { Connection } from "../config/config.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { upstreamHeaders } from "./request_headers.ts";

/** What describes the caller's body or the SDK that wrote it, in whatever protocol; not what is sent in its place. */
const ABOUT_THE_BODY_REGEXP = /^(accept$|content-type$|x-stainless-)/;

/** What a translated request is sent as. */
export interface TranslatedHeadersOptions {
  /** What the upstream's protocol asks for in headers of its own. */
  readonly ownHeaders: readonly [name: string, value: string][];
  /** What the names of headers begin with that belong to a protocol, in lower case. */
  readonly protocolPrefixes: readonly string[];
  readonly stream: boolean;
}

/** The headers of a translated upstream request: those of a native one without the caller's protocol's own. */
export function translatedHeaders(
  caller: HeaderFields,
  connection: Connection,
  { ownHeaders, protocolPrefixes, stream }: TranslatedHeadersOptions,
): [string, string][] {
  const belongsToProtocol = (name: string) =>
    ABOUT_THE_BODY_REGEXP.test(name) ||
    protocolPrefixes.some((prefix) => name.startsWith(prefix));
  const kept = upstreamHeaders(caller, connection).filter(([name]) =>
    Object.hasOwn(connection.headers, name) || !belongsToProtocol(name)
  );
  const names = new Set(kept.map(([name]) => name));
  const added: [string, string][] = [
    ["content-type", "application/json"],
    ["accept", stream ? "text/event-stream" : "application/json"],
    ...ownHeaders,
  ];
  return [...added.filter(([name]) => !names.has(name)), ...kept];
}
