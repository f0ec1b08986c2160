/** The source of the platform's token. */
export type SubjectFields =
  | { readonly file: string }
  /** The audience of a token of Google's metadata service. */
  | { readonly google_metadata: string }
  /** The resource of a token of Azure's metadata service. */
  | { readonly azure_metadata: string };

/** An exchange of the platform's token at an address; default: the provider's. */
interface SubjectExchange {
  readonly subject: SubjectFields;
  readonly token_url?: string | undefined;
}

/** How a connection gets the keys that sign its requests to AWS. */
export type AwsSettings =
  & {
    /** The region of the requests, and of the token service. */
    readonly region: string;
  }
  & (
    | SubjectExchange & {
      readonly kind: "aws";
      /** The ARN of the role. */
      readonly role: string;
    }
    | {
      readonly kind: "aws_container";
      readonly url: string;
      readonly token_file?: string | undefined;
    }
    | { readonly kind: "aws_instance" }
  );

/** How a connection gets short-lived tokens in place of a key. Plain data without a secret, as the file has it. */
export type ExchangeSettings =
  | SubjectExchange & {
    readonly kind: "anthropic";
    readonly federation_rule: string;
    readonly organization: string;
    readonly service_account?: string | undefined;
    readonly workspace?: string | undefined;
  }
  | SubjectExchange & {
    readonly kind: "openai";
    readonly identity_provider: string;
    readonly service_account: string;
  }
  | SubjectExchange & {
    readonly kind: "codex";
    readonly federation_rule: string;
  }
  | SubjectExchange & {
    readonly kind: "google";
    readonly audience: string;
    readonly service_account?: string | undefined;
  }
  | { readonly kind: "google_metadata"; readonly service_account: string }
  | SubjectExchange & {
    readonly kind: "azure";
    readonly tenant: string;
    readonly client: string;
    readonly scope?: string | undefined;
  }
  | {
    readonly kind: "azure_metadata";
    readonly client?: string | undefined;
    readonly resource?: string | undefined;
  }
  | AwsSettings;

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
  exchange: ExchangeSettings,
  connection: string,
) => Promise<ExchangedToken>;

/** Returns true for an exchange whose keys sign requests to AWS. */
export function isAws(exchange: ExchangeSettings): exchange is AwsSettings {
  return exchange.kind.startsWith("aws");
}
