import type { JsonObject, JsonValue } from "@gateway/base/json";
import {
  invalidField,
  unsupportedState,
} from "../../canonical/request/invalid_request.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../canonical/request/request.ts";
import { decodeShared, decodeVerbosity } from "../../openai/settings.ts";
import { wantsCompaction } from "./opaque_item.ts";
import {
  decodeExtras,
  decodeFormat,
  decodeReasoning,
  decodeServiceTier,
} from "./settings.ts";
import { ownMetadata } from "../fields.ts";
import { decodeToolChoice, decodeTools } from "../tools/decode.ts";
import { unionOfTools } from "../tools/union.ts";
import { decodeInput } from "./turn_decode.ts";
import { parseRequest, type WireRequest } from "../wire.ts";

/**
 * Parses a Responses request.
 *
 * @throws {GatewayError} `invalid_request` with `param`, also for state that the gateway does not keep:
 * `previous_response_id`, `conversation`, `background`, `prompt` and items that only refer to other items.
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const wire = parseRequest(body);
  rejectState(wire);
  const { input } = wire;
  if (input === null || input === undefined || input.length === 0) {
    throw invalidField("input", "is missing or empty");
  }
  const { turns, loaded } = decodeInput(input);
  const request: CanonicalRequest = {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: [...decodeInstructions(wire), ...turns],
    tools: unionOfTools(decodeTools(wire.tools ?? [], "tools"), loaded),
    toolChoice: decodeToolChoice(wire.tool_choice ?? undefined),
    parallelTools: wire.parallel_tool_calls ?? undefined,
    format: decodeFormat(wire.text),
    verbosity: decodeVerbosity(wire.text?.verbosity, "text.verbosity"),
    maxOutputTokens: wire.max_output_tokens ?? undefined,
    sampling: {
      temperature: wire.temperature ?? undefined,
      topP: wire.top_p ?? undefined,
    },
    reasoning: decodeReasoning(wire.reasoning),
    serviceTier: decodeServiceTier(wire.service_tier),
    user: wire.user ?? wire.safety_identifier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    metadata: wire.metadata ?? undefined,
    ...decodeShared(body, "responses"),
    extras: { responses: decodeExtras(body) },
  };
  return wantsCompaction(request)
    ? { ...request, toolChoice: { type: "none" } }
    : request;
}

const SEND_HISTORY =
  "Send the whole history instead, as clients do with `store: false`";

/**
 * Rejects references to state that the gateway does not keep. Without that state, the model would receive only a part
 * of the conversation.
 */
function rejectState(wire: WireRequest): void {
  const { previous_response_id, conversation, background, prompt } = wire;
  if (isGiven(previous_response_id)) {
    throw unsupportedState("previous_response_id", { advice: SEND_HISTORY });
  }
  if (isGiven(conversation)) {
    throw unsupportedState("conversation", { advice: SEND_HISTORY });
  }
  if (background === true) {
    throw unsupportedState("background", { advice: "Wait for the answer" });
  }
  if (isGiven(prompt)) {
    throw unsupportedState("prompt", { advice: "Send its text instead" });
  }
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== null && value !== undefined;
}

/** Reads `instructions` as the first turn. A flag shows that this turn was not a message. */
function decodeInstructions({ instructions }: WireRequest): Turn[] {
  const text = instructions ?? "";
  if (text === "") return [];
  return [{
    role: "system",
    blocks: [{ kind: "text", text }],
    providerMetadata: ownMetadata({ isInstructions: true }),
  }];
}
