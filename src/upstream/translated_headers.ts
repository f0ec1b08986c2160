import type { Connection } from "../config/config.ts";
import { upstreamHeaders } from "./request_headers.ts";

/** Headers that steer or tell about the caller's protocol and mean nothing, or something else, in another one. */
const FOREIGN_REGEXP =
  /^(anthropic-|openai-|x-openai-|x-stainless-|x-codex-|chatgpt-|accept$|content-type$|originator$)/;

/** What a translated request is sent as. */
export interface TranslatedHeadersOptions {
  /** What the upstream's protocol asks for in headers of its own. */
  readonly ownHeaders: readonly [name: string, value: string][];
  readonly stream: boolean;
  /** `<vendor_b>`, the prefix of the version header. */
  readonly messagesVendor: string;
}

/** The headers of a translated upstream request: those of a native one without the caller's protocol's own. */
export function translatedHeaders(
  caller: Headers,
  connection: Connection,
  { ownHeaders, stream, messagesVendor }: TranslatedHeadersOptions,
): [string, string][] {
  const pairs = upstreamHeaders(caller, connection);
  const kept = pairs.filter(([name]) =>
    Object.hasOwn(connection.headers, name) ||
    !FOREIGN_REGEXP.test(name) && !name.startsWith(`${messagesVendor}-`)
  );
  const names = new Set(kept.map(([name]) => name));
  const added: [string, string][] = [
    ["content-type", "application/json"],
    ["accept", stream ? "text/event-stream" : "application/json"],
    ...ownHeaders,
  ];
  return [...added.filter(([name]) => !names.has(name)), ...kept];
}
