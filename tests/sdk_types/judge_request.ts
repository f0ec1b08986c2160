import { GatewayError } from "../../src/base/error.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { upstreamRequest } from "../support/dialects/upstream_request.ts";
import type { Probe, TypedField } from "./read_types.ts";
import { ANY_TURNS } from "./sample.ts";
import {
  best,
  isNamed,
  type Seen,
  type Verdict,
  type Verdicts,
  verdictsOf,
} from "./verdict.ts";

const OPENAI = ["gpt-5.6-sol", "gpt-4.1"]
  .map((model) => ({ service: "openai", model }));

/** The targets of translations: the newest models, and older ones that accept other fields. */
const TARGETS: Readonly<
  Record<Protocol, readonly { service: string; model: string }[]>
> = {
  chat: OPENAI,
  messages: [
    { service: "anthropic", model: "claude-opus-5-5" },
    { service: "anthropic", model: "claude-sonnet-4-5" },
  ],
  responses: OPENAI,
};

/** Returns the verdict on a field of a request for each translated route. */
export function judgeRequest(field: TypedField): Verdicts {
  const from = field.entry.protocol;
  return verdictsOf(field, (probe, to) =>
    best(
      TARGETS[to].map((target) => judgeProbe(probe, { from, to, ...target })),
    ));
}

interface Route {
  readonly from: Protocol;
  readonly to: Protocol;
  readonly service: string;
  readonly model: string;
}

function judgeProbe({ having, without, bare }: Probe, route: Route): Verdict {
  const one = ask(having, route);
  if (one === undefined) return "refused";
  const other = ask(without, route);
  if (other === undefined || one.text !== other.text) return "handled";
  return isNamed(one, other, () => ask(bare, route)) ? "named" : "ignored";
}

/** Returns the translated request; `undefined` if the request is refused. */
function ask(fields: JsonObject, route: Route): Seen | undefined {
  try {
    const whole = complete(fields, route.from);
    const { body, dropped } = upstreamRequest(whole, route);
    return { text: JSON.stringify(body), dropped };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

const CALL = { name: "weather", arguments: '{"city":"Rome"}' };

/** A conversation with two calls, which precedes the turns of a type. Results may then follow their calls. */
const HISTORY: Readonly<Record<Protocol, readonly JsonObject[]>> = {
  chat: [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      tool_calls: ["call_1", "call_2"].map((id) => ({
        id,
        type: "function",
        function: CALL,
      })),
    },
  ],
  messages: [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: ["call_1", "call_2"].map((id) => ({
        type: "tool_use",
        id,
        name: "weather",
        input: { city: "Rome" },
      })),
    },
  ],
  responses: [
    { role: "user", content: "Hello" },
    ...["call_1", "call_2"].map((call_id) => ({
      type: "function_call",
      call_id,
      ...CALL,
    })),
  ],
};

const TOOLS: Readonly<Record<Protocol, readonly JsonObject[]>> = {
  chat: [{
    type: "function",
    function: { name: "weather", parameters: SCHEMA },
  }],
  messages: [{ name: "weather", input_schema: SCHEMA }],
  responses: [{ type: "function", name: "weather", parameters: SCHEMA }],
};

/** The fields that need tools. */
const NEEDS_TOOLS = ["tool_choice", "parallel_tool_calls", "function_call"];

/** Adds the required fields to a request. */
function complete(fields: JsonObject, protocol: Protocol): JsonObject {
  const turns = protocol === "responses" ? "input" : "messages";
  const asked = fields[turns] ?? ANY_TURNS;
  const isAny = JSON.stringify(asked) === JSON.stringify(ANY_TURNS);
  return {
    ...(protocol === "messages" ? { max_tokens: 9000 } : {}),
    ...(NEEDS_TOOLS.some((name) => fields[name] !== undefined)
      ? { tools: [...TOOLS[protocol]] }
      : {}),
    ...fields,
    model: "asked",
    [turns]: isAny || !Array.isArray(asked)
      ? asked
      : [...HISTORY[protocol], ...asked],
  };
}
