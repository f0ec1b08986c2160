import type { Protocol } from "../../core/protocol.ts";
import { type ModelRow, rulesFor } from "./effort.ts";

/** Models that work better, or only, at another endpoint than the one of their connection's family. */
export const ENDPOINT_MODELS: readonly ModelRow<Protocol>[] = [
  {
    // "This model is only supported in v1/responses and not in v1/chat/completions."
    models: /^(?:codex-mini|gpt-5(?:\.\d+)?-(?:codex|pro)|o[13]-pro)/,
    examples: [
      "codex-mini-latest",
      "gpt-5-codex",
      "gpt-5.1-codex-max",
      "gpt-5-pro",
      "gpt-5.4-pro",
      "o3-pro",
    ],
    sources: [
      "https://github.com/alvinunreal/tmuxai/issues/82",
      "https://github.com/aaif-goose/goose/issues/2564",
      "https://github.com/theopenco/llmgateway/pull/1154",
      "https://github.com/promptfoo/promptfoo/pull/6539",
    ],
    rules: "responses",
  },
  {
    // Chat Completions refuses function tools while they reason, and some of them always reason.
    models: /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/,
    examples: ["gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-astra", "gpt-7"],
    sources: [
      "https://github.com/ItzCrazyKns/Vane/issues/1173",
      "https://github.com/moltis-org/moltis/pull/1298",
    ],
    rules: "responses",
  },
];

/**
 * Returns the protocol that translated requests for a model should have, where its connection has that endpoint;
 * `undefined` for the protocol of the connection's family.
 *
 * @param model The provider's name of the model.
 */
export function endpointFor(model: string): Protocol | undefined {
  return rulesFor(ENDPOINT_MODELS, model);
}
