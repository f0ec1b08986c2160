import {
  type Histogram,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OPERATIONS } from "@gateway/base/protocol";
import { VERSION } from "@gateway/base/version";
import type { Ending, RequestFacts } from "./facts.ts";
import { TOKEN_COUNTS } from "./log_fields.ts";
import type { EndedRequest } from "./metrics.ts";
import type { TracedRequest, Tracing } from "./tracing.ts";

const SCOPE = "model-gateway";

/**
 * Creates the tracing of requests by OpenTelemetry's GenAI semantic conventions: one span and a few measurements for
 * each request. Spans and measurements go to the SDK that the platform has registered. Without an SDK, spans and
 * measurements are dropped.
 *
 * @param optIn The value of `OTEL_SEMCONV_STABILITY_OPT_IN`, a list with commas. If the list contains
 * `gen_ai_latest_experimental`, the metrics of clients have the newest names.
 */
export function createTracing(names: GenAiNames, optIn = ""): Tracing {
  const tracer = trace.getTracer(SCOPE, VERSION);
  const meter = metrics.getMeter(SCOPE, VERSION);
  const isLatest = optIn.split(",").some((one) => one.trim() === LATEST);
  const measureClient = isLatest ? latestClient(meter) : firstClient(meter);
  const measureServer = serverMeasures(meter);
  return {
    follow(request, serve) {
      const options = { kind: SpanKind.CLIENT };
      return tracer.startActiveSpan(request.operation, options, (span) => {
        const end = (ended: EndedRequest) => {
          const shared = sharedAttributes(request, ended, names);
          measureClient(ended, shared);
          measureServer(ended, shared);
          describe(span, shared, spanAttributes(request, ended.facts));
          if (isFailure(ended.ending, shared)) {
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        };
        return serve({ end });
      });
    },
  };
}

const LATEST = "gen_ai_latest_experimental";

/** Returns true when the provider or the gateway failed. A caller who disconnects is not a failure. */
function isFailure(ending: Ending, shared: GenAiAttributes): boolean {
  return "error.type" in shared && ending !== "client_abort";
}

/** Sets attributes one by one, because some versions of the platform cannot set several at once. */
function describe(
  span: Span,
  shared: GenAiAttributes,
  own: GenAiAttributes,
): void {
  const { "gen_ai.operation.name": operation, "gen_ai.request.model": model } =
    shared;
  span.updateName(
    model === undefined ? `${operation}` : `${operation} ${model}`,
  );
  for (const [name, value] of Object.entries({ ...shared, ...own })) {
    span.setAttribute(name, value);
  }
}

/** The bounds of all durations. */
const DURATION_SECONDS = [
  ...[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64],
  ...[1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
];

/** The bounds of `gen_ai.server.time_to_first_token`. */
const FIRST_TOKEN_SECONDS = [
  ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1],
  ...[0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
];

/** The bounds of `gen_ai.client.token.usage`: the powers of 4 up to 4 to the power of 13. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Measures a request that has ended. */
type Measure = (ended: EndedRequest, shared: GenAiAttributes) => void;

/**
 * Creates a histogram. The conventions recommend the bounds with SHOULD (docs/gen-ai/gen-ai-metrics.md of
 * open-telemetry/semantic-conventions-genai).
 */
function histogramOf(
  meter: Meter,
  [name, unit, bounds]: readonly [string, string, number[]],
): Histogram {
  return meter.createHistogram(name, {
    unit,
    advice: { explicitBucketBoundaries: bounds },
  });
}

function serverMeasures(meter: Meter): Measure {
  const duration = histogramOf(
    meter,
    ["gen_ai.server.request.duration", "s", DURATION_SECONDS],
  );
  const firstToken = histogramOf(
    meter,
    ["gen_ai.server.time_to_first_token", "s", FIRST_TOKEN_SECONDS],
  );
  return ({ facts, totalMs }, shared) => {
    duration.record(totalMs / 1000, shared);
    const { firstOutputMs } = facts.answer;
    if (firstOutputMs === undefined || "error.type" in shared) return;
    firstToken.record(firstOutputMs / 1000, shared);
  };
}

/** Creates the measures of clients by version 1.36 of the conventions. */
function firstClient(meter: Meter): Measure {
  const duration = histogramOf(
    meter,
    ["gen_ai.client.operation.duration", "s", DURATION_SECONDS],
  );
  const tokens = histogramOf(
    meter,
    ["gen_ai.client.token.usage", "{token}", TOKENS],
  );
  return ({ facts, totalMs }, shared) => {
    duration.record(totalMs / 1000, shared);
    const { usage } = facts.answer;
    if (usage === undefined) return;
    const { "error.type": _, ...counted } = shared;
    const count = (type: string, value: number) =>
      tokens.record(value, { ...counted, "gen_ai.token.type": type });
    count("input", usage.inputTokens);
    count("output", usage.outputTokens);
  };
}

/**
 * Creates the measures of clients by the newest conventions (docs/gen-ai/client-inference.md of
 * open-telemetry/semantic-conventions-genai at 024a4f94, before the first release with these names).
 */
function latestClient(meter: Meter): Measure {
  const name = (rest: string) => `gen_ai.client.inference.${rest}`;
  const duration = histogramOf(
    meter,
    [name("duration"), "s", DURATION_SECONDS],
  );
  const firstChunk = histogramOf(
    meter,
    [name("time_to_first_chunk"), "s", FIRST_TOKEN_SECONDS],
  );
  const tokens = TRACED.map(({ of, traced }) => ({
    of,
    counter: meter.createCounter(name(traced), { unit: "{token}" }),
  }));
  return ({ facts: { answer, isStream }, totalMs }, shared) => {
    duration.record(totalMs / 1000, shared);
    if (isStream && answer.firstOutputMs !== undefined) {
      firstChunk.record(answer.firstOutputMs / 1000, shared);
    }
    if (answer.usage === undefined) return;
    const { "error.type": _, ...counted } = shared;
    for (const { counter, of } of tokens) {
      const count = answer.usage[of];
      if (count !== undefined) counter.add(count, counted);
    }
  };
}

/** The counts of tokens that have a name in the conventions. */
const TRACED = Object.values(TOKEN_COUNTS).flatMap(({ of, traced }) =>
  traced === undefined ? [] : [{ of, traced }]
);

/** The attributes of a span or a metric. */
type GenAiAttributes = Record<string, string | number | string[]>;

/**
 * Look-ups in the configuration. They keep the number of attributes' values small and callers' text out of the
 * attributes.
 */
interface GenAiNames {
  /** Returns true when the configuration has a model of this name. */
  isModel(name: string): boolean;
  /** Returns the conventions' name of the provider behind a connection. */
  providerOf(connection: string): string | undefined;
}

/**
 * Returns the attributes that spans and metrics share. Each of these attributes has few different values
 * (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics).
 */
export function sharedAttributes(
  { operation }: TracedRequest,
  { facts, ending }: Pick<EndedRequest, "facts" | "ending">,
  { isModel, providerOf }: GenAiNames,
): GenAiAttributes {
  const { connection, model } = facts;
  const failure = errorType(facts, ending);
  return known({
    "gen_ai.operation.name": OPERATIONS[operation].tracedAs,
    "gen_ai.provider.name": connection === undefined
      ? undefined
      : providerOf(connection),
    "gen_ai.request.model": model !== undefined && isModel(model)
      ? model
      : undefined,
    "gen_ai.response.model": failure === undefined
      ? facts.answer.served?.upstream ?? facts.upstreamModel
      : undefined,
    "error.type": failure,
  });
}

/**
 * Returns the attributes that only the span has. They are counts and names, never text of a prompt or an answer
 * (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans).
 */
export function spanAttributes(
  { requestId }: TracedRequest,
  facts: Readonly<RequestFacts>,
): GenAiAttributes {
  const { connection, mode, client, isStream, effort } = facts;
  const { usage, stopReason, firstOutputMs } = facts.answer;
  return known({
    ...Object.fromEntries(
      TRACED.map(({ of, traced }) => [`gen_ai.${traced}`, usage?.[of]]),
    ),
    "gen_ai.request.reasoning.level": effort,
    "gen_ai.response.time_to_first_chunk":
      isStream && firstOutputMs !== undefined
        ? firstOutputMs / 1000
        : undefined,
    "gen_ai.response.finish_reasons": stopReason === undefined
      ? undefined
      : [stopReason],
    "gen_ai.conversation.id": client?.session,
    "gen_ai.agent.id": client?.agent,
    "model_gateway.client_request_id": client?.requestId,
    "model_gateway.request_id": requestId,
    "model_gateway.connection": connection,
    "model_gateway.mode": mode,
    "model_gateway.attempts": facts.attempts.length,
  });
}

/** Returns the attributes that have a value. */
function known(
  all: Readonly<Record<string, GenAiAttributes[string] | undefined>>,
): GenAiAttributes {
  return Object.fromEntries(
    Object.entries(all).filter((
      one,
    ): one is [string, GenAiAttributes[string]] => one[1] !== undefined),
  );
}

/**
 * Returns the status of the error that the caller received, or the ending if the ending is more precise. Returns
 * `undefined` without an error.
 */
function errorType(
  { status }: Readonly<RequestFacts>,
  ending: Ending,
): string | undefined {
  if (ending === "client_abort" || ending === "upstream_broken") return ending;
  if (status !== undefined && status >= 400) return String(status);
  return ending === "error" ? "_OTHER" : undefined;
}
