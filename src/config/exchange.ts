import type { ExchangeFields } from "./schema/exchange.ts";

/** How a connection gets short-lived tokens in place of a key. Plain data without a secret. */
export type TokenExchange = ExchangeFields;

/** The source of the platform's token. */
export type SubjectFields = Extract<TokenExchange, { kind: "openai" }>[
  "subject"
];

/** The token of an exchange, or the reason why there is none. */
export type ExchangedToken =
  | { readonly token: string; readonly expiresAtMs: number }
  /** The reason ends a sentence, such as "the response has the status 401". */
  | { readonly reason: string };

/**
 * Returns the present token of an exchange. The first call waits for it.
 *
 * @param connection The connection's name, for the log.
 */
export type TokenFor = (
  exchange: TokenExchange,
  connection: string,
) => Promise<ExchangedToken>;
