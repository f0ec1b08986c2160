import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../core/json.ts";
import {
  invalidField,
  unsupportedState,
} from "../../canonical/request/invalid_request.ts";
import { isEffort } from "../../canonical/answer/reasoning.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  ReasoningSettings,
  ServiceTier,
} from "../../canonical/request/request.ts";
import { decodeCache } from "./cache.ts";
import { decodeExtras } from "./extras_decode.ts";
import { decodeToolChoice, decodeTools } from "../tools/decode.ts";
import { decodeMessages, decodeSystem } from "./turn_decode.ts";
import { effortOf } from "./message_effort.ts";
import { parseRequest, type WireRequest } from "../wire.ts";

/**
 * Reads a Messages request of either API version: what `2026-10-21` refuses is still understood.
 *
 * @throws {GatewayError} `invalid_request` with `param`; for `thread`, with the error code on which the SDK
 * sends the whole history (docs/design.md#native-and-translated).
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const wire = parseRequest(body);
  refuseThread(wire);
  const tools = wire.tools ?? [];
  const choice = wire.tool_choice ?? undefined;
  const disablesParallel = choice?.disable_parallel_tool_use ?? undefined;
  const user = wire.metadata?.user_id ?? undefined;
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: [...decodeSystem(wire.system), ...decodeMessages(wire.messages)],
    ...(wire.messages.at(-1)?.role === "assistant" ? { continues: true } : {}),
    tools: decodeTools(tools),
    toolChoice: choice === undefined
      ? undefined
      : decodeToolChoice(choice, tools),
    parallelTools: disablesParallel === undefined
      ? undefined
      : !disablesParallel,
    format: decodeFormat(wire),
    maxOutputTokens: wire.max_tokens,
    stop: wire.stop_sequences?.length ? wire.stop_sequences : undefined,
    sampling: {
      temperature: wire.temperature ?? undefined,
      topP: wire.top_p ?? undefined,
      topK: wire.top_k ?? undefined,
    },
    reasoning: decodeReasoning(wire),
    serviceTier: decodeServiceTier(wire.service_tier),
    user,
    conversation: user === undefined ? undefined : conversationOf(user),
    cache: decodeCache(body),
    extras: { messages: decodeExtras(body) },
  };
}

function refuseThread({ thread }: WireRequest): void {
  if (thread === undefined || thread === null || thread === false) return;
  throw unsupportedState("thread", {
    code: "thread_unsupported_request",
    details: { error_code: "thread_unsupported_request" },
  });
}

function decodeFormat(wire: WireRequest): OutputFormat | undefined {
  const format = wire.output_config?.format ?? wire.output_format ?? undefined;
  if (format === undefined) return undefined;
  const param = wire.output_config?.format
    ? "output_config.format"
    : "output_format";
  if (format.type !== "json_schema") {
    throw invalidField(`${param}.type`, "is not json_schema");
  }
  if (!format.schema) throw invalidField(`${param}.schema`, "is missing");
  return { type: "schema", schema: format.schema };
}

/** `thinking` says whether and how much, `output_config.effort` how hard. */
function decodeReasoning(wire: WireRequest): ReasoningSettings | undefined {
  const word = effortOf(wire);
  const effort = isEffort(word) ? word : undefined;
  const thinking = wire.thinking ?? undefined;
  if (thinking === undefined) {
    return effort === undefined ? undefined : { effort };
  }
  const mode = MODE_BY_TYPE.get(thinking.type);
  if (mode === undefined) {
    throw invalidField(
      "thinking.type",
      "is none of enabled, adaptive, between_tools, disabled",
    );
  }
  return {
    mode,
    budgetTokens: mode === "budget" ? decodeBudget(thinking) : undefined,
    effort,
    summary: SUMMARY_BY_DISPLAY.get(thinking.display ?? ""),
  };
}

const MODE_BY_TYPE: ReadonlyMap<string, ReasoningSettings["mode"]> = new Map(
  [
    ["enabled", "budget"],
    ["adaptive", "adaptive"],
    ["between_tools", "between_tools"],
    ["disabled", "off"],
  ],
);

const SUMMARY_BY_DISPLAY: ReadonlyMap<string, ReasoningSettings["summary"]> =
  new Map([["summarized", "auto"], ["omitted", "none"]]);

function decodeBudget(
  { budget_tokens }: NonNullable<WireRequest["thinking"]>,
): number {
  if (budget_tokens === undefined || budget_tokens === null) {
    throw invalidField("thinking.budget_tokens", "is missing");
  }
  return budget_tokens;
}

function decodeServiceTier(
  word: string | null | undefined,
): ServiceTier | undefined {
  if (word === null || word === undefined) return undefined;
  return {
    tier: word === "standard_only" ? "standard" : "auto",
    raw: { protocol: "messages", value: word },
  };
}

const OLD_SESSION_REGEXP = /_session_([\w-]+)$/;

/** Claude Code puts its session into the user id, as JSON or, formerly, at the end. */
function conversationOf(user: string): string | undefined {
  const parsed = parseJson(user);
  if (isJsonObject(parsed) && typeof parsed.session_id === "string") {
    return parsed.session_id;
  }
  return OLD_SESSION_REGEXP.exec(user)?.[1];
}
