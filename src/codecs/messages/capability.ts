import type { Failure } from "../canonical/failure/failure.ts";

/** A provider's words for a feature that it does not support. */
const UNSUPPORTED_REGEXP =
  /not (?:\w+ )?(?:support|permit|allow|accept|available)|n't support|unsupported|unknown|unrecognized|unavailable|extra inputs|must be|expected [`'"]?text|no endpoints found|not a multimodal|text-only|非法|不支持/i;

/**
 * The subjects of refusals that Claude Code recognizes, in the order of its checks. Claude Code repeats the request
 * without the refused subject. The classes and their order come from the protocol reference in Claude Code's program
 * (`claude gateway`, "Errors"), which https://code.claude.com/docs/en/llm-gateway-protocol describes.
 */
const CLASSES: readonly (readonly [name: string, subject: RegExp])[] = [
  // "System message must be at the beginning.": https://github.com/QuantumNous/new-api/issues/7307
  ["mid_conv_system", /system message must be at the beginning/i],
  ["cache_control_field", /cache_control|prompt_cache_breakpoint/i],
  // "This model does not support response format `json_schema`": https://github.com/ItzCrazyKns/Vane/issues/980
  ["structured_outputs_unsupported", /response[_ ]format|text\.format/i],
  // "Model X does not support parameter reasoningEffort": https://github.com/NousResearch/hermes-agent/pull/23435
  ["effort_unsupported", /reasoning[._ ]?effort/i],
  // "unknown variant `image_url`, expected `text`": https://github.com/nesquena/hermes-webui/issues/2297
  [
    "image_block",
    /\bimages?(?:_url|\b)|\bvision\b|multi-?modal|图片|content\b.{0,40}(?:text|string)/i,
  ],
  ["document_block", /\bpdfs?\b|document_url|input_file|[`'"]file[`'"]/i],
];

/** The most characters of a message that are read. Later characters may quote a part of the request. */
const MAX_CHARACTERS = 400;

/**
 * Returns the message of a failure with a token: `capability_rejected: <class>`. On this token, Claude Code switches
 * the capability off.
 *
 * @returns `undefined` when the provider refuses something other than a capability.
 */
export function withCapability(
  { kind, message, param = "" }: Failure,
): string | undefined {
  if (kind !== "invalid_request" && kind !== "not_found") return undefined;
  if (message.includes("capability_rejected")) return undefined;
  const words = message.slice(0, MAX_CHARACTERS);
  if (!UNSUPPORTED_REGEXP.test(words) || /invalid schema/i.test(words)) {
    return undefined;
  }
  const found = CLASSES.find(([, subject]) =>
    subject.test(words) || subject.test(param)
  );
  return found && `${message} (capability_rejected: ${found[0]})`;
}
