import type { Judge } from "../../../../src/demo/model_call.ts";
import type { SimulatedOperation } from "../../../../src/demo/providers.ts";
import {
  createDemoUpstream,
  type DemoOptions,
  type DemoUpstream,
} from "../../../../src/demo/upstream.ts";
import { judgeMessages } from "./messages_rules.ts";
import { judgeChat, judgeResponses } from "./openai_rules.ts";

type Rules = (
  body: Parameters<Judge>[0]["body"],
  ask: Parameters<Judge>[0]["ask"],
) => void;

const RULES: Readonly<Record<SimulatedOperation, Rules>> = {
  chat_completions: judgeChat,
  completions: () => {},
  messages: judgeMessages,
  count_tokens: judgeMessages,
  responses: judgeResponses,
  compact: judgeResponses,
};

/**
 * Creates the demo's providers with the checks of real ones. They reject a translation that leaves
 * a foreign field, separates a call from its result or changes sealed reasoning.
 */
export function createStrictProvider(
  options: Omit<DemoOptions, "judge">,
): DemoUpstream {
  return createDemoUpstream({
    ...options,
    judge: ({ operation, body, ask }) => RULES[operation](body, ask),
  });
}
