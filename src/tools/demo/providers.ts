import { GatewayError } from "@gateway/base/error";
import {
  FAMILIES,
  type Family,
  type Operation,
  OPERATIONS,
} from "@gateway/base/protocol_tables";

/** The properties of each simulated provider that do not follow from its family's letter. */
const ROWS = {
  A: {
    authScheme: "bearer",
    modelHeader: undefined,
    quota: { kind: "zai", path: "/api/monitor/usage/quota/limit" },
  },
  B: {
    authScheme: "x-api-key",
    modelHeader: undefined,
    quota: { kind: "anthropic", path: "/api/oauth/usage" },
  },
  C: {
    authScheme: "bearer",
    modelHeader: "openai-model",
    quota: { kind: "codex", path: "/backend-api/wham/usage" },
  },
} as const satisfies Partial<Record<Family, object>>;

/** The families that have a simulated provider; the gateway may know others. */
export type SimulatedFamily = keyof typeof ROWS;

/** The operations of the simulated providers; the gateway may know others. */
const SIMULATED_OPERATIONS = [
  "chat_completions",
  "completions",
  "messages",
  "count_tokens",
  "responses",
  "compact",
] as const satisfies readonly Operation[];

/** An operation of the simulated providers. */
export type SimulatedOperation = typeof SIMULATED_OPERATIONS[number];

/** A protocol of the simulated providers. */
export type SimulatedProtocol =
  (typeof OPERATIONS)[SimulatedOperation]["protocol"];

/** One simulated provider. */
export interface Provider {
  readonly family: SimulatedFamily;
  /** The name of the connection. */
  readonly name: string;
  /**
   * The host. Its name ends in `.invalid` and so never resolves: a request outside the simulation would reach no
   * server.
   */
  readonly host: string;
  /** The key that the provider accepts. */
  readonly key: string;
  /** The scheme in which the gateway sends the key. */
  readonly authScheme: "bearer" | "x-api-key";
  /** The operations of the family that need no translation. */
  readonly operations: readonly SimulatedOperation[];
  /** The protocol in which the provider writes its list of models, and its errors for unknown paths. */
  readonly plainProtocol: SimulatedProtocol;
  /** The response header with the model's name, if any. */
  readonly modelHeader: string | undefined;
  /** The gateway's quota reader for this provider, and the path at which the provider's host reports the quota. */
  readonly quota: { readonly kind: string; readonly path: string };
}

/** The prefix of all paths of the model API. */
export const BASE_PATH = "/v1";

/** The simulated providers, one for each family. */
export const PROVIDERS: readonly Provider[] = (["A", "B", "C"] as const).map(
  (family) => ({
    ...ROWS[family],
    family,
    name: `Demo ${family}`,
    host: `demo-${family.toLowerCase()}.invalid`,
    key: `demo-key-${family.toLowerCase()}`,
    operations: SIMULATED_OPERATIONS.filter((operation) => {
      const form: string = FAMILIES[family].serves[operation];
      return form === "native" || form === "either";
    }),
    plainProtocol: FAMILIES[family].protocol,
  }),
);

/** Returns the provider at `host`; `undefined` when there is none. */
export function providerAt(host: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.host === host);
}

/** Returns the protocol of an operation. */
export function protocolOf(operation: SimulatedOperation): SimulatedProtocol {
  return OPERATIONS[operation].protocol;
}

/** The faults. A request causes a fault by a model whose name ends with the name of the fault. */
const FAULTS = [
  "error-401", // refuses the provider's key
  "error-429", // refuses with a rate limit and Retry-After: 1
  "error-500", // fails before it answers
  "slow", // thinks for five seconds before the first word
  "silent", // never answers
  "broken", // cuts the connection in the middle of the answer
  "stall", // falls silent in the middle of the answer
  "error-in-stream", // reports an error in the middle of the answer
] as const;

/** A fault of a model. */
export type Fault = typeof FAULTS[number];

/** The delay of the slow model before the first word, in milliseconds. */
export const SLOW_MS = 5000;

/** The errors of the faults that replace the whole answer. */
const REFUSALS: Readonly<
  Partial<Record<Fault, ConstructorParameters<typeof GatewayError>>>
> = {
  "error-401": ["unauthenticated", "Incorrect API key provided.", {
    code: "invalid_api_key",
  }],
  "error-429": [
    "rate_limited",
    "Rate limit reached for requests. Please try again in 1s.",
    { code: "rate_limit_exceeded", headers: { "retry-after": "1" } },
  ],
  "error-500": [
    "internal",
    "The server had an error while processing your request.",
    { code: "server_error" },
  ],
};

/**
 * Rejects the request when the fault replaces the answer.
 *
 * @throws {GatewayError} The error of the fault.
 */
export function rejectFault(fault: Fault | undefined): void {
  const refusal = fault && REFUSALS[fault];
  if (refusal !== undefined) throw new GatewayError(...refusal);
}

/** The error of `error-in-stream`. It comes in the middle of a stream, or replaces an answer that is not streamed. */
export const OVERLOADED = {
  kind: "overloaded",
  message: "Overloaded",
  code: "server_is_overloaded",
} as const;

/** Returns true when a model reasons even if the request does not ask for reasoning. */
export function isThinkingModel(model: string): boolean {
  return model.includes("think");
}

/**
 * Returns all models of a family, such as `demo-b` and `demo-b-think`, and a model for each fault, such as
 * `demo-b-slow`. In family A, the names of the faulty models contain no letter of the family, for example `demo-slow`.
 */
export function modelsOf(family: SimulatedFamily): string[] {
  const plain = `demo-${family.toLowerCase()}`;
  const faulty = FAULTS.map((fault) => faultPrefix(family) + fault);
  return [plain, `${plain}-think`, ...faulty];
}

/** Returns the fault of `model`; `undefined` for a model without one. */
export function faultOf(
  model: string,
  family: SimulatedFamily,
): Fault | undefined {
  const prefix = faultPrefix(family);
  return FAULTS.find((fault) => model === prefix + fault);
}

function faultPrefix(family: SimulatedFamily): string {
  return family === "A" ? "demo-" : `demo-${family.toLowerCase()}-`;
}
