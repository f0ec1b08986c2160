import type { HeaderFields } from "@gateway/base/header_fields";

/** The headers that concern a single connection, so that no proxy forwards them (RFC 9110, section 7.6.1). */
const HOP_BY_HOP: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const NONE: readonly string[] = [];

/** Returns the names of the headers that a `Connection` header limits to one connection, in lower case. */
export function hopHeaderNames(headers: HeaderFields): readonly string[] {
  const value = headers.get("connection");
  return value
    ? value.toLowerCase().split(",").map((name) => name.trim())
    : NONE;
}

/** A group of header names, in lower case, that are withheld for one reason. */
export interface HeaderGroup {
  readonly reason: string;
  /** Whole names. */
  readonly names: readonly string[];
  /** Beginnings of names. */
  readonly prefixes: readonly string[];
  /** Matches words of names. It must take linear time, because a name may be as long as all headers together. */
  readonly words?: RegExp;
}

/** The headers of a connection, and the headers that describe the form of a body on that connection. */
const CONNECTION: HeaderGroup = {
  reason: "belongs to one connection or to a body's form on it",
  names: [
    ...HOP_BY_HOP,
    "content-encoding",
    "content-length",
    "http2-settings",
    "max-forwards",
  ],
  prefixes: [],
};

/** Keys, tokens and cookies of any party. */
export const CREDENTIALS: HeaderGroup = {
  reason: "is a credential",
  names: [
    "api-key",
    "apikey",
    "authentication",
    "authorization",
    "cookie",
    "cookie2",
    "ocp-apim-subscription-key",
    "private-token",
    "proxy-authenticate",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
    "www-authenticate",
    "x-access-token",
    "x-api-key",
    "x-api-token",
    "x-apikey",
    "x-auth-key",
    "x-auth-token",
    "x-authorization",
    "x-csrf-token",
    "x-functions-key",
    "x-goog-api-key",
    "x-serverless-authorization",
    "x-subscription-token",
    "x-vault-token",
    "x-xsrf-token",
  ],
  prefixes: [],
};

/**
 * Headers that select an account, an organisation, a project or a customer at a provider, and so decide who is billed.
 * The list has the headers of Anthropic (npm `@anthropic-ai/sdk` 1.12.0: workspace and user profile), OpenAI, Google,
 * Zhipu, Alibaba, Hugging Face, Baidu (`appid`) and gateways.
 */
const ACCOUNTS: HeaderGroup = {
  reason: "selects or names an account at the provider",
  names: [
    "anthropic-organization-id",
    "anthropic-user-profile-id",
    "anthropic-workspace-id",
    "appid",
    "bigmodel-organization",
    "bigmodel-project",
    "chatgpt-account-id",
    "openai-organization",
    "openai-project",
    "x-account-id",
    "x-dashscope-workspace",
    "x-goog-quota-user",
    "x-goog-user-project",
    "x-hf-bill-to",
    "x-org-id",
    "x-organization-id",
    "x-organization-uuid",
    "x-project-id",
    "x-team-id",
    "x-tenant-id",
    "x-workspace-id",
  ],
  prefixes: ["x-bt-org-"],
};

/**
 * Headers about the caller that proxies, balancers, clouds and content networks add. Their values are the caller's
 * address, network or certificate, or the user that a proxy has signed in.
 */
const CALLER_IDENTITY: HeaderGroup = {
  reason: "reveals the caller's identity or address",
  names: [
    "cdn-loop",
    "client-ip",
    "do-connecting-ip",
    "forwarded",
    "http-client-ip",
    "incap-client-ip",
    "proxy-client-ip",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-client-cert",
    "x-client-ip",
    "x-client-port",
    "x-clientip",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-forward-for",
    "x-forwarded",
    "x-host",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-remote-addr",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-real-port",
    "x-sucuri-clientip",
    "x-true-client-ip",
  ],
  prefixes: [
    "akamai-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "fly-",
    "remote-",
    "ssl-client-",
    "tailscale-",
    "x-akamai-",
    "x-amz-",
    "x-amzn-",
    "x-appengine-",
    "x-arr-",
    "x-auth-request-",
    "x-authentik-",
    "x-azure-",
    "x-envoy-",
    "x-forwarded-",
    "x-goog-iam-",
    "x-goog-iap-",
    "x-nf-",
    "x-pomerium-",
    "x-railway-",
    "x-remote-",
    "x-ssl-client-",
    "x-vercel-",
    "x-vouch-",
  ],
};

/** A separator of words in a name. Some proxies write `_` or `.`. */
const WORD_END = "(?![^._-])";
const WORD_START = "(?<![^._-])";

/**
 * Words in the names of headers by which a proxy passes on a signed-in person or that person's credential. The words
 * cover sign-on proxies, API gateways, service meshes and CI systems, known or new. Names that providers' SDKs and
 * clients send, such as `user-agent` and `x-token-budget`, do not match.
 */
const PERSON: HeaderGroup = {
  reason: "has the name of a credential or of a signed-in person",
  names: [],
  prefixes: [],
  words: new RegExp([
    "assertion|authenticat|authoriz|cookie|credential|jwt|kerberos|oauth|oidc|passwd|password|saml|secret",
    "consumer|identit(?:y|ies)|principal|userinfo",
    `token${WORD_END}(?![._-](?:budget|count|limit|usage)${WORD_END})`,
    `(?:access|account|api|app|auth|client|license|master|private|service|session|subscription|user)[._-]?key${WORD_END}`,
    `${WORD_START}[a-z0-9]*user(?:s|id|name|dn|e?mail|groups?|roles?)?${WORD_END}(?![._-]agent)`,
    `${WORD_START}(?:auth[nz]?|claims?|dn|e?mail|employee|groups?|ldap|login|member|person|roles?|sso|subject|sub|uid|upn)${WORD_END}`,
    // SiteMinder and IBM's reverse proxy.
    `^(?:http[._-])?(?:sm|iv)[._-]`,
  ].join("|")),
};

/** Headers with which some servers let a client replace the method, path or host of a request. */
const REWRITING: HeaderGroup = {
  reason: "changes the method, path or host of the request",
  names: [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-method",
    "x-original-path",
    "x-original-uri",
    "x-original-url",
    "x-override-url",
    "x-rewrite-uri",
    "x-rewrite-url",
  ],
  prefixes: [],
};

/**
 * Headers that steer an upstream that is a gateway or router itself: to another model, provider, key, cache or log. The
 * list has the headers of Helicone, Portkey, LiteLLM, Bifrost, TrueFoundry, Vercel, Envoy AI Gateway, Braintrust,
 * Keywords AI, TensorZero, Requesty, Higress and this program. The prefix `cf-` above covers Cloudflare's `cf-aig-`.
 */
const STEERING: HeaderGroup = {
  reason: "steers an upstream that is a gateway itself",
  names: [
    "ai-model-id",
    "x-api-base",
    "x-base-url",
    "x-custom-host",
    "x-data-keywordsai-params",
    "x-model",
    "x-model-id",
    "x-model-name",
    "x-openai-target-url",
    "x-provider",
    "x-target-host",
    "x-target-url",
    "x-upstream-host",
    "x-upstream-url",
  ],
  prefixes: [
    "ai-gateway-",
    "ai-language-model-",
    "helicone-",
    "keywordsai-",
    "tensorzero-",
    "x-ai-eg-",
    "x-bf-",
    "x-bt-",
    "x-gateway-",
    "x-higress-",
    "x-litellm-",
    "x-portkey-",
    "x-requesty-",
    "x-tfy-",
  ],
};

/** The headers of a caller that never go upstream. */
export const WITHHELD_FROM_UPSTREAM: readonly HeaderGroup[] = [
  CONNECTION,
  {
    reason: "is set by the gateway itself",
    names: ["accept-encoding", "expect", "host"],
    prefixes: [],
  },
  CREDENTIALS,
  ACCOUNTS,
  CALLER_IDENTITY,
  PERSON,
  REWRITING,
  STEERING,
];

/** The headers of an upstream that never go to the caller. */
export const WITHHELD_FROM_CALLER: readonly HeaderGroup[] = [
  CONNECTION,
  CREDENTIALS,
  ACCOUNTS,
  {
    reason: "binds the caller's client to another host or scheme",
    names: ["alt-svc", "clear-site-data", "strict-transport-security"],
    prefixes: [],
  },
  {
    reason: "reveals the key and the addresses of an upstream gateway",
    names: ["x-litellm-model-api-base"],
    prefixes: ["x-gateway-", "x-litellm-key-"],
  },
];

/**
 * The limits of the cache of tested names: how many names it holds, and how long a name may be. Both are many times
 * what clients and providers send.
 */
const MAX_CACHED = { names: 1024, length: 64 };

/**
 * Returns a function that tests whether a name, in lower case, belongs to one of the groups. The function caches
 * results, because every message has the same names.
 */
export function nameMatcher(
  groups: readonly HeaderGroup[],
): (name: string) => boolean {
  const names = new Set(groups.flatMap((group) => group.names));
  const prefixes = groups.flatMap((group) => group.prefixes);
  const parts = [
    ...(prefixes.length === 0 ? [] : [`^(?:${prefixes.join("|")})`]),
    ...groups.flatMap(({ words }) => words?.source ?? []),
  ];
  if (parts.length === 0) return (name) => names.has(name);
  const part = new RegExp(parts.join("|"));
  const known = new Map<string, boolean>();
  return (name) => {
    const tested = known.get(name);
    if (tested !== undefined) return tested;
    const isIn = names.has(name) || part.test(name);
    const hasRoom = known.size < MAX_CACHED.names;
    if (hasRoom && name.length <= MAX_CACHED.length) known.set(name, isIn);
    return isIn;
  };
}
