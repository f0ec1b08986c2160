import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  pickFields,
} from "@gateway/base/json";
import type { Block } from "../../canonical/content/block.ts";
import { isEffort } from "../../canonical/request/effort.ts";
import type { Extra, Weight } from "../../canonical/content/extras.ts";
import {
  invalidField,
  unsupportedState,
} from "../../canonical/request/invalid_request.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  ReasoningSettings,
  ServiceTier,
  Turn,
} from "../../canonical/request/request.ts";
import {
  decodeAssistantBlock,
  decodeResult,
  decodeSystemBlock,
  decodeUserBlock,
} from "./part_decode.ts";
import { decodeToolChoice, decodeTools } from "../tools/decode.ts";
import {
  KNOWN_FIELDS,
  parseRequest,
  type WireMessage,
  type WireRequest,
} from "../wire.ts";
import { decodeCache } from "./cache.ts";
import { otherFields } from "./fields.ts";
import { effortOf } from "./message_effort.ts";

/**
 * Parses a Messages request of either API version. Fields that `2026-10-21` rejects are still read.
 *
 * @throws {GatewayError} `invalid_request` with `param`. For the field `thread`, the error has the code on which the
 * SDK sends the whole history (docs/design.md#native-and-translated).
 */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const wire = parseRequest(body);
  rejectThread(wire);
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

function rejectThread({ thread }: WireRequest): void {
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
    throw invalidField(`${param}.type`, "must be json_schema");
  }
  if (!format.schema) throw invalidField(`${param}.schema`, "is missing");
  // "Structured outputs guarantee schema-compliant responses":
  // https://platform.claude.com/docs/en/build-with-claude/structured-outputs
  return { type: "schema", schema: format.schema, strict: "wanted" };
}

/** Reads the reasoning: `thinking` has the mode and the budget, `output_config.effort` the effort. */
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
      "must be enabled, adaptive, between_tools or disabled",
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

/**
 * Returns the session of Claude Code from the user id. The user id is JSON that has the session id. In earlier
 * versions, the session id is at the end of the user id.
 */
function conversationOf(user: string): string | undefined {
  const parsed = parseJson(user);
  if (isJsonObject(parsed) && typeof parsed.session_id === "string") {
    return parsed.session_id;
  }
  return OLD_SESSION_REGEXP.exec(user)?.[1];
}

type Content = string | readonly JsonObject[];

/** Reads the system text as the first turn. Throws `invalid_request` with the path of an invalid block. */
function decodeSystem(system: Content | null | undefined): Turn[] {
  if (system === null || system === undefined) return [];
  return [{
    role: "system",
    blocks: decodeBlocks(system, "system", decodeSystemBlock),
  }];
}

/**
 * Reads messages as turns. Tool results become a separate turn. Throws `invalid_request` with the path of an invalid
 * block.
 */
function decodeMessages(messages: readonly WireMessage[]): Turn[] {
  return messages.flatMap((message, index) =>
    decodeMessage(message, `messages[${index}]`)
  );
}

function decodeMessage({ role, content }: WireMessage, param: string): Turn[] {
  const place = `${param}.content`;
  switch (role) {
    case "user":
      return decodeUser(content, place);
    case "assistant":
      return [{
        role,
        blocks: decodeBlocks(content, place, decodeAssistantBlock),
      }];
    case "system":
      return [{
        role,
        blocks: decodeBlocks(content, place, decodeSystemBlock),
      }];
    default:
      throw invalidField(`${param}.role`, "must be user, assistant or system");
  }
}

function decodeUser(content: Content, param: string): Turn[] {
  const blocks = decodeBlocks(
    content,
    param,
    (block, place) =>
      block.type === "tool_result"
        ? decodeResult(block, place)
        : decodeUserBlock(block, place),
  );
  const results = blocks.filter(({ kind }) => kind === "tool_result");
  if (results.length === 0) return [{ role: "user", blocks }];
  const rest = blocks.filter(({ kind }) => kind !== "tool_result");
  return rest.length === 0
    ? [{ role: "tool", blocks: results }]
    : [{ role: "tool", blocks: results }, { role: "user", blocks: rest }];
}

function decodeBlocks(
  content: Content,
  param: string,
  decode: (block: JsonObject, param: string) => Block,
): readonly Block[] {
  if (typeof content === "string") {
    return [decode({ type: "text", text: content }, param)];
  }
  return content.map((block, index) => decode(block, `${param}[${index}]`));
}

/** Returns the fields that have no place in the canonical form, each with the weight of losing it. */
function decodeExtras(body: JsonObject): Record<string, Extra> {
  const others = {
    ...otherFields(body, KNOWN_FIELDS),
    ...innerFields(body, "metadata", (field) => field === "user_id"),
    ...innerFields(
      body,
      "output_config",
      (field, value) =>
        field === "format" || field === "effort" && isEffort(value),
    ),
  };
  return Object.fromEntries(
    Object.entries(others).flatMap(([field, value]) =>
      value === undefined
        ? []
        : [[field, { value, weight: weightOf(field, value) }]]
    ),
  );
}

/** Returns the weight of losing a field that has no place in the canonical form. */
function weightOf(field: string, value: JsonValue): Weight {
  switch (field) {
    case "mcp_servers":
      // Without these servers, the conversation would be different.
      return isEmptyList(value) ? "ignore" : "reject";
    case "inference_geo":
      // The place of processing can be a legal requirement.
      return "reject";
    case "speed":
      return value === "standard" ? "ignore" : "report";
    default:
      return "report";
  }
}

/** Returns an object field, reduced to the inner fields that have no place in the canonical form. */
function innerFields(
  body: JsonObject,
  field: "metadata" | "output_config",
  isKnown: (field: string, value: JsonValue | undefined) => boolean,
): JsonObject {
  const object = body[field];
  if (!isJsonObject(object)) return {};
  const rest = pickFields(
    object,
    (name, value) => !isKnown(name, value) && value !== null,
  );
  return Object.keys(rest).length === 0 ? {} : { [field]: rest };
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}
