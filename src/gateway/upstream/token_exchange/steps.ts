import type { TokenExchangeSettings } from "../../config/token_exchange.ts";
import { isCredential } from "../../config/resolve/auth.ts";
import type { SmallRequest } from "../small_request.ts";
import {
  accessToken,
  awsKeys,
  awsRoleKeys,
  type NewKey,
  serviceAccountToken,
  TokenExchangeFault,
} from "./answers.ts";

/** One request of a token exchange. */
export interface TokenRequest extends SmallRequest {
  /** True for a metadata service. Proxies cannot reach metadata services. */
  readonly isLocal?: boolean;
}

/** What an exchange needs next: the text of a file, or of a successful response. */
type Step = { readonly file: string } | TokenRequest;

/** The steps of an exchange. The generator takes the text of each step, and returns the key. */
type Steps<Result = NewKey> = Generator<Step, Result, string>;

const GOOGLE_METADATA =
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts";

const AZURE_METADATA =
  "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";

const GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

/** The resource of Azure OpenAI and Foundry. */
const AZURE_RESOURCE = "https://cognitiveservices.azure.com";

/** The metadata service of AWS, in EC2. */
const AWS_METADATA = "http://169.254.169.254/latest";

const OPENAI_TOKENS = "https://auth.openai.com/oauth/token";
const AZURE_TOKENS = "https://login.microsoftonline.com";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";

/**
 * Returns the steps of an exchange. They are those of the provider's documentation or SDK:
 * - anthropic: platform.claude.com/docs/en/manage-claude/wif-reference, and for the beta headers
 *   github.com/anthropics/anthropic-sdk-typescript, src/lib/credentials/oidc-federation.ts and types.ts;
 * - openai: developers.openai.com/api/reference/workload-identity-federation, and
 *   github.com/openai/openai-node, src/auth/workload-identity-auth.ts;
 * - codex: developers.openai.com/docs/enterprise/workload-identity, and for the fields Codex 0.171.0 itself, whose request
 *   a server recorded on 2026-11-26;
 * - google: docs.cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token and
 *   docs.cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken;
 * - google_metadata: cloud.google.com/compute/docs/access/authenticate-workloads;
 * - azure: learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, third case;
 * - azure_metadata: learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token, and
 *   npm `@azure/msal-node`, src/client/ManagedIdentitySources/Imds.ts;
 * - aws: docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html;
 * - aws_container: docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html;
 * - aws_instance: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html.
 */
export function* tokenExchangeSteps(exchange: TokenExchangeSettings): Steps {
  const { kind } = exchange;
  if (kind === "aws_instance") return yield* instanceSteps();
  if (kind === "aws_container") {
    const { url, token_file: file } = exchange;
    const headers: Record<string, string> = file === undefined
      ? {}
      : { authorization: oneWord(yield { file }) };
    const isLocal = url.startsWith("http:");
    return awsKeys(yield { url, headers, isLocal });
  }
  const subject = "subject" in exchange
    ? yield* subjectSteps(exchange.subject)
    : "";
  const text = yield requestFor(exchange, subject);
  if (kind === "aws") return awsRoleKeys(text);
  const found = accessToken(text);
  const account = kind === "google" ? exchange.service_account : undefined;
  if (kind !== "google" || account === undefined) return found;
  const origin = exchange.token_url === undefined
    ? "https://iamcredentials.googleapis.com"
    : new URL(exchange.token_url).origin;
  const path = `${encodeURIComponent(account)}:generateAccessToken`;
  return serviceAccountToken(
    yield post(
      `${origin}/v1/projects/-/serviceAccounts/${path}`,
      { scope: [GOOGLE_SCOPE] },
      { authorization: `Bearer ${found.key}` },
    ),
  );
}

/** Returns the main request of an exchange. Only `google` with a `service_account` needs a second request. */
function requestFor(
  exchange: Exclude<
    TokenExchangeSettings,
    { readonly kind: "aws_container" | "aws_instance" }
  >,
  subject: string,
): TokenRequest {
  const { token_url: url } = { token_url: undefined, ...exchange };
  switch (exchange.kind) {
    case "anthropic":
      return post(url ?? "https://api.anthropic.com/v1/oauth/token", {
        grant_type: JWT_BEARER,
        assertion: subject,
        federation_rule_id: exchange.federation_rule,
        organization_id: exchange.organization,
        service_account_id: exchange.service_account,
        workspace_id: exchange.workspace,
      }, { "anthropic-beta": "oauth-2025-04-20,oidc-federation-2026-04-01" });
    case "openai":
      return post(url ?? OPENAI_TOKENS, {
        grant_type: TOKEN_EXCHANGE,
        subject_token_type: JWT,
        subject_token: subject,
        identity_provider_id: exchange.identity_provider,
        service_account_id: exchange.service_account,
      });
    case "codex":
      return post(
        url ?? OPENAI_TOKENS,
        new URLSearchParams({
          grant_type: JWT_BEARER,
          assertion: subject,
          federation_rule_id: exchange.federation_rule,
        }),
      );
    case "google":
      return post(url ?? "https://sts.googleapis.com/v1/token", {
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
    case "azure": {
      const tenant = encodeURIComponent(exchange.tenant);
      const fields = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: exchange.client,
        client_assertion_type:
          "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: subject,
        scope: exchange.scope ?? `${AZURE_RESOURCE}/.default`,
      });
      return post(url ?? `${AZURE_TOKENS}/${tenant}/oauth2/v2.0/token`, fields);
    }
    case "azure_metadata": {
      const { resource = AZURE_RESOURCE, client } = exchange;
      return azureMetadata({ resource, client_id: client });
    }
    case "aws": {
      const fields = new URLSearchParams({
        Action: "AssumeRoleWithWebIdentity",
        Version: "2011-06-15",
        RoleArn: exchange.role,
        RoleSessionName: "model-gateway",
        WebIdentityToken: subject,
      });
      const regional = `https://sts.${exchange.region}.amazonaws.com/`;
      return post(url ?? regional, fields, { accept: "text/xml" });
    }
  }
}

/** Reads the keys of an EC2 instance from its metadata service, in a session of one minute. */
function* instanceSteps(): Steps {
  const session = oneWord(
    yield {
      method: "PUT",
      url: `${AWS_METADATA}/api/token`,
      headers: { "x-aws-ec2-metadata-token-ttl-seconds": "60" },
      body: "",
      isLocal: true,
    },
  );
  const read = (name: string): TokenRequest => ({
    url: `${AWS_METADATA}/meta-data/iam/security-credentials/${name}`,
    headers: { "x-aws-ec2-metadata-token": session },
    isLocal: true,
  });
  return awsKeys(yield read(encodeURIComponent(oneWord(yield read("")))));
}

type Subject = Extract<TokenExchangeSettings, { subject: unknown }>["subject"];

/**
 * Returns the steps to the platform's own token. Sources:
 * cloud.google.com/compute/docs/instances/verifying-instance-identity (the response is the token alone),
 * learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token (JSON with `access_token`).
 */
function* subjectSteps(subject: Subject): Steps<string> {
  if ("file" in subject) return oneWord(yield subject);
  if ("azure_metadata" in subject) {
    const { azure_metadata: resource } = subject;
    return oneWord(accessToken(yield azureMetadata({ resource })).key);
  }
  const audience = encodeURIComponent(subject.google_metadata);
  return oneWord(
    yield googleMetadata(
      `default/identity?audience=${audience}&format=full`,
    ),
  );
}

function oneWord(text: string): string {
  const word = text.trim();
  if (isCredential(word)) return word;
  throw new TokenExchangeFault("the platform's token is not one word");
}

/** Returns a request with fields in JSON, or in a form. */
function post(
  url: string,
  fields: URLSearchParams | Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): TokenRequest {
  const isForm = fields instanceof URLSearchParams;
  const type = isForm
    ? "application/x-www-form-urlencoded"
    : "application/json";
  const body = isForm ? fields.toString() : JSON.stringify(fields);
  return { url, headers: { ...headers, "content-type": type }, body };
}

function googleMetadata(path: string): TokenRequest {
  const headers = { "metadata-flavor": "Google" };
  return { url: `${GOOGLE_METADATA}/${path}`, headers, isLocal: true };
}

function azureMetadata(
  query: Readonly<Record<string, string | undefined>>,
): TokenRequest {
  const url = new URL(AZURE_METADATA);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return { url: url.href, headers: { metadata: "true" }, isLocal: true };
}
