import type { Family } from "../core/protocol.ts";
import { OPERATIONS } from "../core/protocol_tables.ts";

/** One simulated provider. */
export interface Provider {
  readonly family: SimulatedFamily;
  /** What the gateway calls the connection. */
  readonly name: string;
  /** `.invalid` never resolves, so a request that got out would reach nobody. */
  readonly host: string;
  /** What the provider asks for as its key. */
  readonly key: string;
  readonly operations: readonly SimulatedOperation[];
  /** In whose shape it lists models and refuses what stands on no path of an operation. */
  readonly plainProtocol: SimulatedProtocol;
  /** The header that names the model which answered, if any. */
  readonly modelHeader: string | undefined;
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
    plainProtocol: "chat",
    modelHeader: undefined,
    quotaPath: "/api/monitor/usage/quota/limit",
  },
  {
    family: "B",
    name: "Demo B",
    host: "demo-b.invalid",
    key: "demo-key-b",
    operations: ["messages", "count_tokens"],
    plainProtocol: "messages",
    modelHeader: undefined,
    quotaPath: "/api/oauth/usage",
  },
  {
    family: "C",
    name: "Demo C",
    host: "demo-c.invalid",
    key: "demo-key-c",
    operations: ["responses", "compact"],
    plainProtocol: "chat",
    modelHeader: "openai-model",
    quotaPath: "/backend-api/wham/usage",
  },
];

/** The provider that answers at `host`; `undefined` when none does. */
export function providerAt(host: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.host === host);
}

/** The families that have a simulated provider; the gateway may know others. */
export type SimulatedFamily = Extract<Family, "A" | "B" | "C">;

/** What the simulated providers serve. */
export type SimulatedOperation = Extract<
  keyof typeof OPERATIONS,
  | "chat_completions"
  | "completions"
  | "messages"
  | "count_tokens"
  | "responses"
  | "compact"
>;

/** What they speak. */
export type SimulatedProtocol =
  (typeof OPERATIONS)[SimulatedOperation]["protocol"];

/** The protocol of an operation. */
export function protocolOf(operation: SimulatedOperation): SimulatedProtocol {
  return OPERATIONS[operation].protocol;
}
