import type { GatewayError } from "@gateway/base/error";
import {
  type Operation,
  OPERATIONS,
  type Protocol,
} from "@gateway/base/protocol";
import type { Target } from "../canonical/codec.ts";
import { tooManyTools } from "../canonical/tools/bridge_tools.ts";
import { CODECS } from "../codecs.ts";
import {
  endpointFor,
  openAiModelRules,
  refusesChat,
} from "../dialects/openai_models.ts";

/** The facts of a request that decide whether a target takes it unchanged. */
interface RequestFacts {
  readonly toolCount: number;
  /** The effort that the request asks for; `undefined` for the model's own. */
  readonly effort?: string | undefined;
}

/** What the tables of dialects say of a request that a target gets unchanged. */
interface Suitability {
  /** False when the provider does not serve the model in this protocol. */
  readonly isServed: boolean;
  /** True when the provider refuses tools beside the effort, or the protocol for this model. */
  readonly isRefused: boolean;
  /** The error for more tools than the provider takes. */
  readonly excess: GatewayError | undefined;
  /** The protocol that serves the model better, where its connection has that endpoint. */
  readonly better: Protocol | undefined;
}

/** Returns what a target would say to a request for an operation. */
export function suitabilityOf(
  operation: Operation,
  target: Target,
  { toolCount, effort }: RequestFacts,
): Suitability {
  const { endpoint, protocol } = OPERATIONS[operation];
  // Azure's Responses serves the models of OpenAI alone.
  const isForeign = target.service === "azure-chat" &&
    endpoint === "responses" && openAiModelRules(target) === undefined;
  return {
    isServed: !isForeign,
    isRefused: endpoint === "chat" &&
      refusesChat(target, { hasTools: toolCount > 0, effort }),
    excess: tooManyTools(
      toolCount,
      CODECS[protocol].toolSupport(target),
      target,
    ),
    better: endpointFor(target),
  };
}
