import { GatewayError } from "@gateway/base/error";
import type { Family } from "@gateway/base/protocol";
import { OPERATIONS } from "@gateway/base/protocol_tables";
import type { Step } from "./speak.ts";

/** One simulated provider. */
export interface Provider {
  readonly family: SimulatedFamily;
  /** The name of the connection. */
  readonly name: string;
  /** The host, under `.invalid`, which never resolves: a request that left the simulation would reach no server. */
  readonly host: string;
  /** The key that the provider accepts. */
  readonly key: string;
  readonly operations: readonly SimulatedOperation[];
  /** The protocol of its list of models, and of its errors for unknown paths. */
  readonly plainProtocol: SimulatedProtocol;
  /** The response header with the model's name, if any. */
  readonly modelHeader: string | undefined;
  /** The path at which the provider reports its quota, on the same host. */
  readonly quotaPath: string;
}

/** The prefix of all paths of the model API. */
export const BASE_PATH = "/v1";

/** The simulated providers, one for each family. */
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

/** Returns the provider at `host`; `undefined` when there is none. */
export function providerAt(host: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.host === host);
}

/** The families that have a simulated provider; the gateway may know others. */
export type SimulatedFamily = Extract<Family, "A" | "B" | "C">;

/** An operation of the simulated providers. */
export type SimulatedOperation = Extract<
  keyof typeof OPERATIONS,
  | "chat_completions"
  | "completions"
  | "messages"
  | "count_tokens"
  | "responses"
  | "compact"
>;

/** A protocol of the simulated providers. */
export type SimulatedProtocol =
  (typeof OPERATIONS)[SimulatedOperation]["protocol"];

/** Returns the protocol of an operation. */
export function protocolOf(operation: SimulatedOperation): SimulatedProtocol {
  return OPERATIONS[operation].protocol;
}

/** The faults that a model's name can request by its ending. */
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

type Fault = typeof FAULTS[number];

/** The delay of the slow model before the first word, in milliseconds. */
export const SLOW_MS = 5000;

/** The errors that replace an answer. */
const REFUSALS: Readonly<Partial<Record<Fault, () => GatewayError>>> = {
  "error-401": () =>
    new GatewayError("unauthenticated", "Incorrect API key provided.", {
      code: "invalid_api_key",
    }),
  "error-429": () =>
    new GatewayError(
      "rate_limited",
      "Rate limit reached for requests. Please try again in 1s.",
      { code: "rate_limit_exceeded", headers: { "retry-after": "1" } },
    ),
  "error-500": () =>
    new GatewayError(
      "internal",
      "The server had an error while processing your request.",
      { code: "server_error" },
    ),
};

/** Returns the error that a fault sends in place of the answer; `undefined` for other faults. */
export function refusalOf(fault: Fault | undefined): GatewayError | undefined {
  return fault && REFUSALS[fault]?.();
}

/** The error in the middle of a stream, or in place of an answer that is not streamed. */
export const OVERLOADED = {
  kind: "overloaded",
  message: "Overloaded",
  code: "server_is_overloaded",
} as const;

/** Adds a delay, a break or a stall to the steps of a body. Other faults leave the steps unchanged. */
export function withFault(
  steps: Iterable<Step>,
  fault: Fault | undefined,
): Iterable<Step> {
  switch (fault) {
    case "slow":
      return slowed(steps);
    case "broken":
      return [...firstHalf(steps), { kind: "break" }];
    case "stall":
      return [...firstHalf(steps), { kind: "hang" }];
    default:
      return steps;
  }
}

/** Waits before the first step with a word; earlier steps are sent at once. */
function* slowed(steps: Iterable<Step>): Generator<Step> {
  let hasWaited = false;
  for (const step of steps) {
    if (!hasWaited && step.kind === "write" && step.wordCount > 0) {
      hasWaited = true;
      yield { kind: "wait", ms: SLOW_MS };
    }
    yield step;
  }
}

/** Returns the first half of the steps; for a body with one step, the first half of its text. */
function firstHalf(steps: Iterable<Step>): Step[] {
  const all = [...steps];
  const [only] = all;
  if (all.length === 1 && only?.kind === "write") {
    return [{ ...only, text: only.text.slice(0, only.text.length / 2) }];
  }
  return all.slice(0, Math.ceil(all.length / 2));
}

/** Returns true when a model reasons without a request for it. */
export function isThinkingModel(model: string): boolean {
  return model.includes("think");
}

/**
 * Returns all models of a family, such as `demo-b` and `demo-b-think`, and a model for each fault, such as
 * `demo-b-slow`. The faulty models of family A have no letter: `demo-slow`.
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
