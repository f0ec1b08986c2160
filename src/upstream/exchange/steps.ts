import type { ExchangeSettings, SubjectFields } from "../../config/exchange.ts";

/** A request for a token, or for what leads to one. */
export interface TokenRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True for a metadata service, which no proxy reaches. */
  readonly isLocal?: boolean;
}

const GOOGLE_METADATA =
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts";

const AZURE_METADATA =
  "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";

const GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

/** The resource of Azure OpenAI and Foundry. */
const AZURE_RESOURCE = "https://cognitiveservices.azure.com";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";

/**
 * Returns the request for the platform's own token; `undefined` when it is in a file, or when the exchange needs none.
 *
 * Sources: cloud.google.com/compute/docs/instances/verifying-instance-identity (the response is the token alone),
 * learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token (JSON with `access_token`).
 */
export function subjectRequest(
  subject: SubjectFields,
): TokenRequest | undefined {
  if ("file" in subject) return undefined;
  return "google_metadata" in subject
    ? googleMetadata(
      `default/identity?audience=${
        encodeURIComponent(subject.google_metadata)
      }&format=full`,
    )
    : azureMetadata({ resource: subject.azure_metadata });
}

/**
 * Returns the request that exchanges the platform's token.
 *
 * Sources, by kind:
 * - anthropic: platform.claude.com/docs/en/manage-claude/wif-reference, and for the beta headers
 *   github.com/anthropics/anthropic-sdk-typescript, src/lib/credentials/oidc-federation.ts and types.ts;
 * - openai: developers.openai.com/api/reference/workload-identity-federation;
 * - google: docs.cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token;
 * - google_metadata: cloud.google.com/compute/docs/access/authenticate-workloads;
 * - azure: learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, third case;
 * - azure_metadata: learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token.
 *
 * @param subject The platform's token; empty for an exchange without a `subject`.
 */
export function exchangeRequest(
  exchange: ExchangeSettings,
  subject: string,
): TokenRequest {
  switch (exchange.kind) {
    case "anthropic":
      return json(
        exchange.token_url ?? "https://api.anthropic.com/v1/oauth/token",
        {
          grant_type: JWT_BEARER,
          assertion: subject,
          federation_rule_id: exchange.federation_rule,
          organization_id: exchange.organization,
          service_account_id: exchange.service_account,
          workspace_id: exchange.workspace,
        },
        { "anthropic-beta": "oauth-2025-04-20,oidc-federation-2026-04-01" },
      );
    case "openai":
      return json(exchange.token_url ?? "https://auth.openai.com/oauth/token", {
        grant_type: TOKEN_EXCHANGE,
        subject_token_type: JWT,
        subject_token: subject,
        identity_provider_id: exchange.identity_provider,
        service_account_id: exchange.service_account,
      });
    case "google":
      return json(exchange.token_url ?? "https://sts.googleapis.com/v1/token", {
        grantType: TOKEN_EXCHANGE,
        audience: exchange.audience,
        scope: GOOGLE_SCOPE,
        requestedTokenType: "urn:ietf:params:oauth:token-type:access_token",
        subjectTokenType: JWT,
        subjectToken: subject,
      });
    case "google_metadata":
      return googleMetadata(
        `${encodeURIComponent(exchange.service_account)}/token`,
      );
    case "azure":
      return {
        method: "POST",
        url: exchange.token_url ??
          `https://login.microsoftonline.com/${
            encodeURIComponent(exchange.tenant)
          }/oauth2/v2.0/token`,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_id: exchange.client,
          client_assertion_type:
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: subject,
          scope: exchange.scope ?? `${AZURE_RESOURCE}/.default`,
        }).toString(),
      };
    case "azure_metadata":
      return azureMetadata({
        resource: exchange.resource ?? AZURE_RESOURCE,
        client_id: exchange.client,
      });
  }
}

/**
 * Returns the request for the token of a service account, which an exchange with Google may name
 * (docs.cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken).
 *
 * @param token The federated token.
 */
export function impersonation(
  exchange: ExchangeSettings,
  token: string,
): TokenRequest | undefined {
  if (exchange.kind !== "google") return undefined;
  const { service_account: account } = exchange;
  if (account === undefined) return undefined;
  const origin = exchange.token_url === undefined
    ? "https://iamcredentials.googleapis.com"
    : new URL(exchange.token_url).origin;
  return json(
    `${origin}/v1/projects/-/serviceAccounts/${
      encodeURIComponent(account)
    }:generateAccessToken`,
    { scope: [GOOGLE_SCOPE] },
    { authorization: `Bearer ${token}` },
  );
}

function json(
  url: string,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): TokenRequest {
  return {
    method: "POST",
    url,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

function googleMetadata(path: string): TokenRequest {
  return {
    method: "GET",
    url: `${GOOGLE_METADATA}/${path}`,
    headers: { "metadata-flavor": "Google" },
    isLocal: true,
  };
}

function azureMetadata(
  query: Readonly<Record<string, string | undefined>>,
): TokenRequest {
  const url = new URL(AZURE_METADATA);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return {
    method: "GET",
    url: url.href,
    headers: { metadata: "true" },
    isLocal: true,
  };
}
