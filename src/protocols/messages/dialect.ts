import { oncePer } from "../../core/collections/once_per.ts";
import type { RequestContext, Target } from "../canonical/codec.ts";
import { parseClaudeModel } from "../dialects/claude_model.ts";
import { claudeRowFor } from "../dialects/claude_models.ts";
import { ALL_EFFORTS } from "../dialects/effort.ts";
import type { MessagesRules } from "../dialects/messages_rules.ts";
import type { CacheWriter } from "./request/cache.ts";
import type { HistoryIds } from "./tools/tool_call_ids.ts";

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: MessagesRules;
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
  schemas: false,
  unsignedThinking: true,
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

/** The rules of a target: by its model where that is a Claude, whoever serves it. */
export const dialectOf: (
  target: Pick<Target, "service" | "model">,
) => MessagesRules = oncePer(({ service, model }) => {
  if (service === "gateway") return GATEWAY;
  const claude = parseClaudeModel(model);
  if (claude === undefined) return COMPATIBLE;
  return claudeRowFor(claude)?.rules ?? COMPATIBLE;
});
