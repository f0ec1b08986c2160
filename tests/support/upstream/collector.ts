import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { until } from "../within.ts";

/** An exported span. */
export interface ExportedSpan {
  readonly name: string;
  /** The instrumentation scope: the platform's or the gateway's. */
  readonly scope: string;
  /** 2 server, 3 client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The last export of one series of a histogram. */
export interface ExportedHistogram {
  readonly name: string;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly unknown[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** An OpenTelemetry collector that keeps everything in memory. */
export interface Collector extends AsyncDisposable {
  /** The environment that makes a process export to it, with short intervals. */
  readonly env: Record<string, string>;
  /** All received bodies as text. */
  text(): string;
  /** The number of exports. */
  exports(): number;
  readonly spans: readonly ExportedSpan[];
  /** The latest state of a histogram, with one entry per set of attributes. */
  histograms(name: string): readonly ExportedHistogram[];
  /** Waits for a span. */
  span(is: (span: ExportedSpan) => boolean): Promise<ExportedSpan>;
}

/** Starts a collector on a free port of this machine. */
export function startCollector(): Collector {
  const texts: string[] = [];
  const spans: ExportedSpan[] = [];
  const histograms = new Map<string, ExportedHistogram>();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, async (request) => {
    const text = await request.text();
    texts.push(text);
    const body: unknown = JSON.parse(text);
    spans.push(...spansOf(body));
    for (const one of histogramsOf(body)) {
      histograms.set(JSON.stringify([one.name, one.attributes]), one);
    }
    return Response.json({});
  });
  return {
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    },
    text: () => texts.join("\n"),
    exports: () => texts.length,
    spans,
    histograms: (name) =>
      [...histograms.values()].filter((one) => one.name === name),
    async span(is) {
      await until(() => spans.some(is), "a span");
      const found = spans.find(is);
      if (found === undefined) throw new Error("It was there a moment ago");
      return found;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function spansOf(body: unknown): ExportedSpan[] {
  return below(body, "resourceSpans", "scopeSpans").flatMap((one) =>
    objects(one.spans).map((span) => ({
      name: String(span.name),
      scope: scopeOf(one),
      kind: Number(span.kind),
      traceId: String(span.traceId),
      spanId: String(span.spanId),
      parentSpanId: String(span.parentSpanId),
      isError: isJsonObject(span.status) && span.status.code === 2,
      attributes: attributesOf(span),
    }))
  );
}

function histogramsOf(body: unknown): ExportedHistogram[] {
  return below(body, "resourceMetrics", "scopeMetrics").flatMap((one) =>
    objects(one.metrics).flatMap((metric) =>
      objects(isJsonObject(metric.histogram) && metric.histogram.dataPoints)
        .map((point) => ({
          name: String(metric.name),
          count: Number(point.count),
          sum: Number(point.sum),
          bounds: Array.isArray(point.explicitBounds)
            ? point.explicitBounds
            : [],
          attributes: attributesOf(point),
        }))
    )
  );
}

/** Returns the scopes of an export. */
function below(body: unknown, outer: string, inner: string): JsonObject[] {
  return objects(isJsonObject(body) && body[outer]).flatMap((one) =>
    objects(one[inner])
  );
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function scopeOf({ scope }: JsonObject): string {
  return isJsonObject(scope) ? String(scope.name) : "";
}

function attributesOf(
  { attributes }: JsonObject,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    objects(attributes).map(({ key, value }) => [
      String(key),
      plain(isJsonObject(value) ? value : {}),
    ]),
  );
}

/** Returns a value without the name of its type. */
function plain({ arrayValue, ...value }: JsonObject): unknown {
  return isJsonObject(arrayValue)
    ? objects(arrayValue.values).map(plain)
    : Object.values(value)[0];
}
