import { OPERATIONS } from "../core/protocol.ts";
import type { Ending, RequestFacts } from "./facts.ts";
import type { TracedRequest } from "./tracing.ts";

/** What a span or a metric says of a request. */
export type GenAiAttributes = Record<string, string | number | string[]>;

/** What keeps the attributes few and free of the callers' text. */
export interface GenAiNames {
  /** Whether a model stands in the configuration. */
  isModel(name: string): boolean;
  /** The provider behind a connection, by the connection's name, as the conventions call it. */
  providerOf(connection: string): string | undefined;
}

/**
 * The attributes that spans and metrics share, few values each
 * (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics).
 */
export function sharedAttributes(
  { operation, record: { facts } }: TracedRequest,
  ending: Ending,
  { isModel, providerOf }: GenAiNames,
): GenAiAttributes {
  const { connection, model } = facts;
  const failure = errorType(facts, ending);
  return {
    "gen_ai.operation.name": OPERATIONS[operation].tracedAs,
    ...attribute(
      "gen_ai.provider.name",
      connection === undefined ? undefined : providerOf(connection),
    ),
    ...attribute(
      "gen_ai.request.model",
      model !== undefined && isModel(model) ? model : undefined,
    ),
    ...attribute(
      "gen_ai.response.model",
      failure === undefined
        ? facts.answer.served?.upstream ?? facts.upstreamModel
        : undefined,
    ),
    ...attribute("error.type", failure),
  };
}

/**
 * What only the span of a request says beside the shared attributes: counts and names, nothing that was said
 * (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans).
 */
export function spanAttributes(
  { record: { requestId, facts } }: TracedRequest,
): GenAiAttributes {
  const { connection, mode, client } = facts;
  const { usage, stopReason } = facts.answer;
  return {
    ...attribute("gen_ai.usage.input_tokens", usage?.inputTokens),
    ...attribute("gen_ai.usage.output_tokens", usage?.outputTokens),
    ...attribute(
      "gen_ai.usage.cache_read.input_tokens",
      usage?.cachedInputTokens,
    ),
    ...attribute(
      "gen_ai.usage.cache_write.input_tokens",
      usage?.cacheWriteTokens,
    ),
    ...attribute(
      "gen_ai.response.finish_reasons",
      stopReason === undefined ? undefined : [stopReason],
    ),
    ...attribute("gen_ai.conversation.id", client?.session),
    ...attribute("gen_ai.agent.id", client?.agent),
    ...attribute("model_gateway.client_request_id", client?.requestId),
    "model_gateway.request_id": requestId,
    ...attribute("model_gateway.connection", connection),
    ...attribute("model_gateway.mode", mode),
    "model_gateway.attempts": facts.attempts.length,
  };
}

function attribute(
  name: string,
  value: string | number | string[] | undefined,
): GenAiAttributes {
  return value === undefined ? {} : { [name]: value };
}

/** The status that the caller got, or how the request ended where that says more. */
function errorType(
  { status }: Readonly<RequestFacts>,
  ending: Ending,
): string | undefined {
  if (ending === "client_abort" || ending === "upstream_broken") return ending;
  if (status !== undefined && status >= 400) return String(status);
  return ending === "error" ? "_OTHER" : undefined;
}
