import type { Fetch } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";

/** The platform's token that the issuers accept. It expires after ten minutes. */
export const SUBJECT = [
  { alg: "RS256" },
  { sub: "gateway", exp: Math.floor(Date.now() / 1000) + 600 },
].map((part) => btoa(JSON.stringify(part)).replace(/=+$/, "")).join(".") +
  ".c2ln";

/** The secret part of the keys of AWS's issuers. */
export const AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY";

/** A request at an issuer. */
interface Read {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly text: string;
}

/** Checks a request and returns the issuer's response. Throws when the request differs from the documented one. */
type Issuer = (request: Read, token: string, endsAt: string) => unknown;

function jsonIn({ headers, method, text }: Read): unknown {
  assert.equal(method, "POST");
  assert.equal(headers.get("content-type"), "application/json");
  return JSON.parse(text);
}

/** The issuers, by their documented address. */
const ISSUERS: Readonly<Record<string, Issuer>> = {
  "https://api.anthropic.com/v1/oauth/token"(request, access_token) {
    assert.deepEqual(jsonIn(request), {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: SUBJECT,
      federation_rule_id: "fdrl_1",
      organization_id: "org",
      service_account_id: "svac_1",
    });
    const betas = request.headers.get("anthropic-beta")?.split(",");
    assert.deepEqual(betas, ["oauth-2025-04-20", "oidc-federation-2026-04-01"]);
    return { access_token, token_type: "Bearer", expires_in: 3600 };
  },
  "https://auth.openai.com/oauth/token"(request, access_token) {
    const type = "application/x-www-form-urlencoded";
    if (request.headers.get("content-type") === type) {
      // The request of Codex 0.171.0, recorded on 2026-11-26.
      assert.equal(
        request.text,
        `grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=${SUBJECT}&federation_rule_id=rule-one`,
      );
      return {
        ...{ access_token, token_type: "Bearer", expires_in: 3600 },
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        ...{ scope: "model.request", chatgpt_plan_type: "enterprise" },
        ...{ chatgpt_account_id: "account-one", user_id: "user-one" },
      };
    }
    assert.deepEqual(jsonIn(request), {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      subject_token: SUBJECT,
      identity_provider_id: "idp_1",
      service_account_id: "sa_1",
    });
    return { access_token, expires_in: 3600 };
  },
  "https://sts.googleapis.com/v1/token"(request, access_token) {
    assert.equal(request.headers.get("authorization"), null);
    assert.deepEqual(jsonIn(request), {
      grantType: "urn:ietf:params:oauth:grant-type:token-exchange",
      audience: "//iam.googleapis.com/providers/p",
      scope: "https://www.googleapis.com/auth/cloud-platform",
      requestedTokenType: "urn:ietf:params:oauth:token-type:access_token",
      subjectTokenType: "urn:ietf:params:oauth:token-type:jwt",
      subjectToken: SUBJECT,
    });
    return { access_token, token_type: "Bearer", expires_in: 3600 };
  },
  "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/gw%40p.iam.gserviceaccount.com:generateAccessToken"(
    request,
    token,
    expireTime,
  ) {
    assert.match(
      request.headers.get("authorization") ?? "",
      /^Bearer token-\d+-secret$/,
    );
    assert.deepEqual(jsonIn(request), {
      scope: ["https://www.googleapis.com/auth/cloud-platform"],
    });
    return { accessToken: token, expireTime };
  },
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"(
    { headers, method },
    access_token,
  ) {
    assert.deepEqual([method, headers.get("metadata-flavor")], [
      "GET",
      "Google",
    ]);
    return { access_token, expires_in: 3599, token_type: "Bearer" };
  },
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity"(
    { headers, url },
  ) {
    assert.equal(headers.get("metadata-flavor"), "Google");
    assert.equal(url.searchParams.get("audience"), "https://api.openai.com/v1");
    return SUBJECT;
  },
  "https://login.microsoftonline.com/tenant/oauth2/v2.0/token"(
    { headers, text },
    access_token,
  ) {
    const type = "application/x-www-form-urlencoded";
    assert.equal(headers.get("content-type"), type);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(text)), {
      grant_type: "client_credentials",
      client_id: "client",
      client_assertion_type:
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: SUBJECT,
      scope: "https://cognitiveservices.azure.com/.default",
    });
    return { token_type: "Bearer", expires_in: 3599, access_token };
  },
  "https://sts.eu-central-1.amazonaws.com/"(
    { method, headers, text },
    token,
    endsAt,
  ) {
    assert.equal(method, "POST");
    const type = "application/x-www-form-urlencoded";
    assert.equal(headers.get("content-type"), type);
    assert.equal(headers.get("accept"), "text/xml");
    assert.deepEqual(Object.fromEntries(new URLSearchParams(text)), {
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: "arn:aws:iam::123456789012:role/gateway",
      RoleSessionName: "model-gateway",
      WebIdentityToken: SUBJECT,
    });
    return roleKeys(token, endsAt);
  },
  "http://169.254.170.23/v1/credentials"({ method, headers }, token, endsAt) {
    assert.equal(method, "GET");
    assert.equal(headers.get("authorization"), SUBJECT);
    return { ...metadataKeys(token, endsAt), AccountId: "123456789012" };
  },
  "http://169.254.170.2/v2/credentials/id"({ method, headers }, token, endsAt) {
    assert.equal(method, "GET");
    assert.equal(headers.get("authorization"), null);
    return {
      ...metadataKeys(token, endsAt),
      RoleArn: "arn:aws:iam::1:role/task",
    };
  },
  "http://169.254.169.254/latest/api/token"({ method, headers }) {
    assert.equal(method, "PUT");
    assert.equal(headers.get("x-aws-ec2-metadata-token-ttl-seconds"), "60");
    return IMDS_SESSION;
  },
  "http://169.254.169.254/latest/meta-data/iam/security-credentials/"(
    { method, headers },
  ) {
    assert.equal(method, "GET");
    assert.equal(headers.get("x-aws-ec2-metadata-token"), IMDS_SESSION);
    return "gateway-role\n";
  },
  "http://169.254.169.254/latest/meta-data/iam/security-credentials/gateway-role"(
    { method, headers },
    token,
    endsAt,
  ) {
    assert.equal(method, "GET");
    assert.equal(headers.get("x-aws-ec2-metadata-token"), IMDS_SESSION);
    return {
      Code: "Success",
      Type: "AWS-HMAC",
      ...metadataKeys(token, endsAt),
    };
  },
  "http://169.254.169.254/metadata/identity/oauth2/token"(
    { headers, url },
    access_token,
  ) {
    assert.equal(headers.get("metadata"), "true");
    const { resource, ...rest } = Object.fromEntries(url.searchParams);
    assert.deepEqual(rest, { "api-version": "2018-02-01" });
    assert.ok(resource?.startsWith("https://") || resource === "api://claude");
    // The metadata service writes its numbers as texts.
    return resource === "api://claude"
      ? { access_token: SUBJECT, expires_in: "86399" }
      : { access_token, expires_in: "3599", resource };
  },
};

/** Returns the documented response of STS, with these keys. */
function roleKeys(session: string, endsAt: string): string {
  return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>gateway</SubjectFromWebIdentityToken>
    <AssumedRoleUser>
      <Arn>arn:aws:sts::123456789012:assumed-role/gateway/model-gateway</Arn>
    </AssumedRoleUser>
    <Credentials>
      <SessionToken>${session}</SessionToken>
      <SecretAccessKey>${AWS_SECRET}</SecretAccessKey>
      <Expiration>${endsAt}</Expiration>
      <AccessKeyId>ASgeIAIOSFODNN7EXAMPLE</AccessKeyId>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`;
}

/** Returns keys as AWS's metadata services do. */
function metadataKeys(Token: string, Expiration: string) {
  return {
    AccessKeyId: "ASgeIAIOSFODNN7EXAMPLE",
    SecretAccessKey: AWS_SECRET,
    Token,
    Expiration,
  };
}

/** The session token for the metadata service of EC2. */
const IMDS_SESSION = "AQAEAHdn_session==";

/** Issuers that accept only the documented requests. */
export interface StrictIssuers {
  readonly fetch: Fetch;
  /** The number of requests so far. */
  readonly requests: number;
  /** The next responses, which replace the issuers' own. */
  readonly next: (() => Response | Promise<Response>)[];
}

/**
 * Opens the issuers. Their tokens are `token-1-secret`, `token-2-secret` and so on.
 *
 * @param endsAt The expiry in responses that name a time.
 */
export function openIssuers(endsAt = "2026-01-01T01:00:00Z"): StrictIssuers {
  let requests = 0;
  const next: StrictIssuers["next"] = [];
  return {
    next,
    get requests() {
      return requests;
    },
    async fetch(address, init) {
      const request = new Request(address, init);
      const url = new URL(address);
      requests += 1;
      const other = next.shift();
      if (other !== undefined) return await other();
      const issuer = ISSUERS[url.origin + url.pathname];
      assert.ok(issuer, `${address} is no documented address`);
      const { method, headers } = request;
      const text = await request.text();
      const read = { url, method, headers, text };
      const answer = issuer(read, `token-${requests}-secret`, endsAt);
      return new Response(
        typeof answer === "string" ? answer : JSON.stringify(answer),
      );
    },
  };
}
