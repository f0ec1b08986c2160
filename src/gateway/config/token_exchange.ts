import type { TokenExchangeFields } from "./schema/token_exchange.ts";

/** How a connection gets short-lived tokens in place of a key. The file's options, as plain data without a secret. */
export type TokenExchangeSettings = Readonly<TokenExchangeFields>;

/** How a connection gets the keys that sign its requests to AWS. */
export type AwsSettings = Extract<
  TokenExchangeSettings,
  { readonly kind: `aws${string}` }
>;

/** The token of an exchange, or the reason why the exchange has no token. */
export type ExchangedToken =
  | { readonly token: string; readonly expiresAtMs: number }
  /** The reason ends a sentence, such as "the response has the status 401". */
  | { readonly reason: string };

/**
 * Returns the present token of an exchange. The first call waits for the token.
 *
 * @param connection The connection's name, for the log.
 */
export type TokenFor = (
  exchange: TokenExchangeSettings,
  connection: string,
) => Promise<ExchangedToken>;

/** Returns true for an exchange whose keys sign requests to AWS. */
export function isAws(
  exchange: TokenExchangeSettings,
): exchange is AwsSettings {
  return exchange.kind.startsWith("aws");
}
