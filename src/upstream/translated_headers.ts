import type { Connection } from "../config/config.ts";
import type { Protocol } from "../core/protocol.ts";
import { upstreamHeaders } from "./request_headers.ts";

/** Headers that steer or tell about the caller's protocol and mean nothing, or something else, in another one. */
const FOREIGN_REGEXP =
  /^(anthropic-|openai-|x-openai-|x-stainless-|x-codex-|chatgpt-|accept$|content-type$|originator$)/;

/** What a translated request is sent as. */
export interface TranslatedHeadersOptions {
  /** The protocol that is spoken to the upstream. */
  readonly protocol: Protocol;
  readonly stream: boolean;
  /** `<vendor_b>`, the prefix of the version header. */
  readonly messagesVendor: string;
}

/** What each protocol asks for in headers of its own, in the version that the codec writes. */
const OWN_HEADERS: Readonly<
  Record<Protocol, (messagesVendor: string) => readonly [string, string][]>
> = {
  chat: () => [],
  messages: (messagesVendor) => [[`${messagesVendor}-version`, "2023-06-01"]],
  responses: () => [],
};

/** The headers of a translated upstream request: those of a native one without the caller's protocol's own. */
export function translatedHeaders(
  caller: Headers,
  connection: Connection,
  { protocol, stream, messagesVendor }: TranslatedHeadersOptions,
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
    ...OWN_HEADERS[protocol](messagesVendor),
  ];
  return [...added.filter(([name]) => !names.has(name)), ...kept];
}
