import type { GatewayError } from "@gateway/base/error";
import {
  type Operation,
  OPERATIONS,
  type Protocol,
} from "@gateway/base/protocol";
import type { ModelTarget } from "../canonical/codec.ts";
import { tooManyTools } from "../canonical/tools/bridge_tools.ts";
import { CODECS } from "../codecs.ts";
import {
  endpointFor,
  openAiModelRules,
  refusesChat,
} from "../dialects/openai_models.ts";

/** The facts of a request that decide whether a target takes the request unchanged. */
interface RequestFacts {
  readonly toolCount: number;
  /** The requested effort; `undefined` for the model's default. */
  readonly effort?: string | undefined;
}

/** What the dialect tables say about a native request to a target. */
interface Suitability {
  /** False when the provider does not serve the model in this protocol. */
  readonly isServed: boolean;
  /** True when the provider refuses tools beside the requested effort, or refuses this protocol for the model. */
  readonly isRefused: boolean;
  /** The error if the request has more tools than the provider takes; otherwise `undefined`. */
  readonly excess: GatewayError | undefined;
  /** The protocol that serves the model better, if the connection has an endpoint for this protocol. */
  readonly better: Protocol | undefined;
}

/** Returns how well a target suits a native request for an operation. */
export function suitabilityOf(
  operation: Operation,
  target: ModelTarget,
  { toolCount, effort }: RequestFacts,
): Suitability {
  const { endpoint, protocol } = OPERATIONS[operation];
  // On Azure, Responses serves only OpenAI's models.
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
