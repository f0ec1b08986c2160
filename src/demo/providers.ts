import type { Family } from "../core/protocol.ts";
import { OPERATIONS } from "../core/protocol_tables.ts";
import { Refusal } from "./refusal.ts";
import type { Step } from "./speak.ts";

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

/** What can go wrong on request; the model's name ends in one of these. */
const FAULTS = {
  "error-401": "refuses the provider's key",
  "error-429": "refuses with a rate limit and Retry-After: 1",
  "error-500": "fails before it answers",
  "slow": "thinks for five seconds before the first word",
  "silent": "never answers",
  "broken": "cuts the connection in the middle of the answer",
  "stall": "falls silent in the middle of the answer",
  "error-in-stream": "reports an error in the middle of the answer",
} as const;

/** A key of {@linkcode FAULTS}. */
export type Fault = keyof typeof FAULTS;

/** How long the slow model thinks before the first word, in milliseconds. */
export const SLOW_MS = 5000;

/** The refusal that `fault` is, for the faults that come instead of an answer. */
export function refusalOf(fault: Fault | undefined): Refusal | undefined {
  switch (fault) {
    case "error-401":
      return new Refusal("unauthenticated", "Incorrect API key provided.", {
        code: "invalid_api_key",
      });
    case "error-429":
      return new Refusal(
        "rate_limited",
        "Rate limit reached for requests. Please try again in 1s.",
        { code: "rate_limit_exceeded", headers: { "retry-after": "1" } },
      );
    case "error-500":
      return new Refusal(
        "broken",
        "The server had an error while processing your request.",
        { code: "server_error" },
      );
    default:
      return undefined;
  }
}

/** The failure that breaks into an answer, or stands instead of one that is sent whole. */
export function overloaded(): Refusal {
  return new Refusal("overloaded", "Overloaded", {
    code: "server_is_overloaded",
  });
}

/**
 * The steps of a body with a fault worked in.
 *
 * @param options.failure The steps that report an error in the middle, after so many steps of the answer.
 */
export function withFault(
  steps: Iterable<Step>,
  options: {
    readonly fault: Fault | undefined;
    readonly failure: (stepCount: number) => Iterable<Step>;
  },
): Iterable<Step> {
  switch (options.fault) {
    case "slow":
      return slowed(steps);
    case "broken":
      return [...firstHalf(steps), { kind: "break" }];
    case "stall":
      return [...firstHalf(steps), { kind: "hang" }];
    case "error-in-stream": {
      const half = firstHalf(steps);
      return [...half, ...options.failure(half.length)];
    }
    default:
      return steps;
  }
}

/** Waits before the first step that says something; what comes before is sent at once. */
function* slowed(steps: Iterable<Step>): Generator<Step> {
  let hasSpoken = false;
  for (const step of steps) {
    if (!hasSpoken && step.kind === "write" && step.wordCount > 0) {
      hasSpoken = true;
      yield { kind: "wait", ms: SLOW_MS };
    }
    yield step;
  }
}

/** The first half of the steps; of a body in one step, the first half of its text. */
function firstHalf(steps: Iterable<Step>): Step[] {
  const all = [...steps];
  const [only] = all;
  if (all.length === 1 && only?.kind === "write") {
    return [{ ...only, text: only.text.slice(0, only.text.length / 2) }];
  }
  return all.slice(0, Math.ceil(all.length / 2));
}

/** Whether a model reasons without being asked to. */
export function isThinkingModel(model: string): boolean {
  return model.includes("think");
}

/**
 * Every model of a family, such as `demo-b`, `demo-b-think` and, one a fault, `demo-b-slow`. Family A leaves
 * its letter out of the names of the faulty ones: `demo-slow`.
 */
export function modelsOf(family: SimulatedFamily): string[] {
  const plain = `demo-${family.toLowerCase()}`;
  const faulty = FAULT_NAMES.map((fault) => faultPrefix(family) + fault);
  return [plain, `${plain}-think`, ...faulty];
}

/** What goes wrong with `model`; `undefined` when nothing does. */
export function faultOf(
  model: string,
  family: SimulatedFamily,
): Fault | undefined {
  const prefix = faultPrefix(family);
  return FAULT_NAMES.find((fault) => model === prefix + fault);
}

function faultPrefix(family: SimulatedFamily): string {
  return family === "A" ? "demo-" : `demo-${family.toLowerCase()}-`;
}

const FAULT_NAMES = Object.keys(FAULTS).filter(isFault);

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
}
