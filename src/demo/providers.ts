import type { Family, Operation } from "../core/protocol.ts";

/** One simulated provider. */
export interface Provider {
  readonly family: Family;
  /** What the gateway calls the connection. */
  readonly name: string;
  /** `.invalid` never resolves, so a request that got out would reach nobody. */
  readonly host: string;
  /** What the provider asks for as its key. */
  readonly key: string;
  readonly operations: readonly Operation[];
  /** Where its quota is read, on the same host. */
  readonly quotaPath: string;
}

/** Every path of the model API stands under this one. */
export const BASE_PATH = "/v1";

/** The simulated providers, one a family. */
export const PROVIDERS: readonly Provider[] = [
  {
    family: "A",
    name: "Demo A",
    host: "demo-a.invalid",
    key: "demo-key-a",
    operations: [
      "chat_completions",
      "completions",
      "messages",
      "count_tokens",
      "responses",
      "compact",
    ],
    quotaPath: "/api/monitor/usage/quota/limit",
  },
  {
    family: "B",
    name: "Demo B",
    host: "demo-b.invalid",
    key: "demo-key-b",
    operations: ["messages", "count_tokens"],
    quotaPath: "/api/oauth/usage",
  },
  {
    family: "C",
    name: "Demo C",
    host: "demo-c.invalid",
    key: "demo-key-c",
    operations: ["responses", "compact"],
    quotaPath: "/backend-api/wham/usage",
  },
];

/** The provider that answers at `host`; `undefined` when none does. */
export function providerAt(host: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.host === host);
}
