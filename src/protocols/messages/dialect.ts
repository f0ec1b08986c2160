import { oncePer } from "../../core/memo.ts";
import type { RequestContext, Target } from "../canonical/codec.ts";
import {
  claudeRowFor,
  MESSAGES_PROVIDERS,
  type MessagesRules,
  parseClaudeModel,
} from "../dialects/claude_models.ts";
import { ALL_EFFORTS } from "../dialects/effort.ts";
import type { CacheWriter } from "./request/cache.ts";
import type { HistoryIds } from "./tools/tool_call_ids.ts";

/** What a target takes. */
export interface MessagesDialect extends MessagesRules {
  /** Whether it is asked to drop thinking that fails the check, so that it does not refuse the request. */
  readonly dropsMismatches: boolean;
}

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: MessagesDialect;
  readonly context: RequestContext;
  readonly cache: CacheWriter;
  readonly ids: HistoryIds;
}

/** Servers that imitate the protocol: open models, which can verify no signature. */
const COMPATIBLE: MessagesRules = {
  maxOutputTokens: undefined,
  thinking: "as_given",
  thinkingOff: "disabled",
  efforts: ALL_EFFORTS.filter((effort) => effort !== "minimal"),
  sampling: "all",
  forcedTools: "always",
  systemAnywhere: false,
  prefill: true,
  schemas: false,
  unsignedThinking: true,
  thinkingBinding: "none",
  serviceTiers: false,
  maxNameLength: 64,
};

/** Another gateway, which fits the request to its own upstream. */
const GATEWAY: MessagesRules = {
  ...COMPATIBLE,
  systemAnywhere: true,
  schemas: true,
  serviceTiers: true,
  maxNameLength: 128,
};

/** Returns what a target takes: by its model where that is a Claude, whoever serves it, and by its host. */
export const dialectOf: (
  target: Pick<Target, "service" | "model" | "endpoints">,
) => MessagesDialect = oncePer((target) => {
  const rules = rulesOf(target);
  return {
    ...rules,
    dropsMismatches: rules.thinkingBinding === "checked" &&
      providerOf(target)?.dropsMismatches === true,
  };
});

function rulesOf(
  { service, model }: Pick<Target, "service" | "model">,
): MessagesRules {
  const claude = parseClaudeModel(model);
  const rules = claude && claudeRowFor(claude)?.rules;
  if (service !== "gateway") return rules ?? COMPATIBLE;
  const thinkingBinding = rules?.thinkingBinding ?? "none";
  return { ...GATEWAY, thinkingBinding };
}

function providerOf({ endpoints }: Pick<Target, "endpoints">) {
  const url = endpoints?.messages;
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return MESSAGES_PROVIDERS.find((provider) => provider.host === host);
}
