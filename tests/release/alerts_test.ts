import assert from "node:assert/strict";
import { z } from "zod";
import { checkExpressions } from "../support/gateway/metric_names.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { testNeeding } from "../support/ignored.ts";
import { fromFileUrl } from "../support/program/paths.ts";
import { runOther } from "../support/program/run_program.ts";
import { openTempFolder } from "../support/temp_folder.ts";
import { parseYaml } from "../support/yaml.ts";
import { stringifyYaml } from "../../src/base/yaml.ts";

const FILE = new URL("../../packaging/prometheus-rules.yaml", import.meta.url);
const PAGE = new URL("../../docs/observing.md", import.meta.url);

const sentence = z.string().regex(/^[A-Z{].*[^.]$|\.$/);

const rulesSchema = z.strictObject({
  groups: z.tuple([z.strictObject({
    name: z.literal("model-gateway"),
    rules: z.array(z.strictObject({
      alert: z.string().regex(/^[A-Z][A-Za-z]+$/),
      expr: z.string(),
      for: z.string().regex(/^\d+m$/).optional(),
      labels: z.strictObject({
        severity: z.enum(["critical", "warning", "info"]),
      }),
      annotations: z.strictObject({
        summary: sentence,
        description: sentence,
        action: sentence,
      }),
    })),
  })]),
});

const { groups: [{ rules }] } = rulesSchema.parse(
  parseYaml(await Deno.readTextFile(FILE)),
);

Deno.test("the alerts name only metrics, labels and values that exist", async () => {
  const check = await checkExpressions();
  for (const { expr } of rules) check(expr);
});

Deno.test("the check finds a wrong metric, label or value in an alert", async () => {
  const check = await checkExpressions();
  for (
    const expression of [
      "model_gateway_nothing > 1",
      "sum(rate(model_gateway_requests[5m]))",
      'model_gateway_attempts_total{model="a"}',
      'model_gateway_attempts_total{status=~"5xx|500"}',
      "sum by (token) (model_gateway_attempts_total)",
      "1 > 0",
    ]
  ) assert.throws(() => check(expression), assert.AssertionError);
});

Deno.test("every alert has a unique name, and an expression with a threshold", () => {
  const names = rules.map(({ alert }) => alert);
  assert.equal(new Set(names).size, names.length);
  for (const { alert, expr } of rules) {
    assert.match(expr, /(?:>|<|==) ?[\d.]+/, alert);
  }
});

Deno.test("the documentation has a scrape job with the name in the alerts", async () => {
  assert.match(await Deno.readTextFile(PAGE), /job_name: model-gateway\n/);
  for (const { expr } of rules) {
    for (const [, job] of expr.matchAll(/job="([^"]*)"/g)) {
      assert.equal(job, "model-gateway");
    }
  }
});

/** Series in promtool's notation, by name and labels. */
type Series = Readonly<Record<string, string>>;

/** For each alert, series of 40 minutes that make it fire, and others that do not. */
const CASES: Readonly<
  Record<string, { readonly fires: Series; readonly silent: Series }>
> = {
  GatewayDown: one('up{job="model-gateway"}', "0x40", "1x40"),
  GatewayRestarts: one(
    'process_start_time_seconds{job="model-gateway"}',
    "1x8 2x8 3x8 4x8 5x8",
    "1x20 2x20",
  ),
  GatewayThreadsDie: one(
    "model_gateway_worker_replacements_total",
    "0x20 1x20",
    "1x40",
  ),
  GatewayShortage: one("model_gateway_shortages_total", "0x30 1x10", "1x40"),
  CallersGetErrors: share(
    'model_gateway_requests_total{status="5xx"}',
    'model_gateway_requests_total{status="2xx"}',
  ),
  AnswersBreakOff: share(
    'model_gateway_requests_total{ended="upstream_broken"}',
    'model_gateway_requests_total{ended="complete"}',
  ),
  ProviderDown: beside(
    ['model_gateway_attempts_total{connection="a",status="2xx"}', "0+1x40"],
    one(
      'model_gateway_attempts_total{connection="a",status="none"}',
      "0+19x40",
      "0+8x40",
    ),
  ),
  ProviderFails: share(
    'model_gateway_attempts_total{connection="a",status="5xx"}',
    'model_gateway_attempts_total{connection="a",status="2xx"}',
  ),
  KeyRefused: coolDown("misconfigured"),
  ProviderExhausted: coolDown("exhausted"),
  ModelSubstituted: one(
    'model_gateway_model_substitutions_total{connection="a",model="b"}',
    "_x30 1x10",
    "1x40",
  ),
  QuotaNearlyUsed: one(
    'model_gateway_quota_used_ratio{connection="a",type="T",window="w"}',
    "0.95x40",
    "0.85x40",
  ),
  BudgetNearlyUsed: {
    fires: {
      'model_gateway_limit_used_ratio{scope="token",name="a",limit="cost month"}':
        "0.95x40",
    },
    silent: {
      'model_gateway_limit_used_ratio{scope="token",name="a",limit="cost month"}':
        "0.85x40",
      // A limit per minute or hour is soon free again.
      'model_gateway_limit_used_ratio{scope="token",name="a",limit="tokens minute"}':
        "1x40",
    },
  },
  StoreAway: one("model_gateway_shared_store_connected", "0x40", "1x40"),
  LatencyAdded: {
    fires: lagSeries({ under: "0+1x40" }),
    silent: lagSeries({ under: "0+100x40" }),
  },
  BodyMemoryNearlyUsed: beside(
    ["model_gateway_body_memory_limit_bytes", "100x40"],
    one("model_gateway_body_memory_bytes", "90x40", "70x40"),
  ),
  RequestsNearlyFull: beside(
    ["model_gateway_requests_in_flight_limit", "100x40"],
    one("model_gateway_requests_in_flight", "90x40", "70x40"),
  ),
};

function one(series: string, fires: string, silent: string) {
  return { fires: { [series]: fires }, silent: { [series]: silent } };
}

/** Adds a series to both cases. */
function beside(
  [series, values]: readonly [string, string],
  { fires, silent }: ReturnType<typeof one>,
) {
  const same = { [series]: values };
  return { fires: { ...fires, ...same }, silent: { ...silent, ...same } };
}

/** Returns two cases: every second request is bad, or one of a thousand. */
function share(bad: string, good: string) {
  return {
    fires: { [bad]: "0+50x40", [good]: "0+50x40" },
    silent: { [bad]: "0+1x40", [good]: "0+999x40" },
  };
}

/** Returns two cases: a new series with a cool-down in the last minutes, or an old cool-down. */
function coolDown(failure: string) {
  const series = (name: string) =>
    `model_gateway_cool_downs_total{connection="a",failure="${name}"}`;
  return {
    fires: { [series(failure)]: "_x30 1x10" },
    silent: { [series(failure)]: "1x40", [series("trouble")]: "0+1x40" },
  };
}

function lagSeries({ under }: { readonly under: string }): Series {
  const bucket = (le: string) =>
    `model_gateway_event_loop_lag_seconds_bucket{instance="i",le="${le}"}`;
  return {
    [bucket("0.1")]: under,
    [bucket("0.25")]: "0+100x40",
    [bucket("+Inf")]: "0+100x40",
  };
}

/** Returns a promtool test for whether an alert fires after 40 minutes. */
function ruleTest(alert: string, series: Series, fires: boolean): object {
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([series, values]) => ({
      series,
      values,
    })),
    promql_expr_test: [{
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
      eval_time: "40m",
      exp_samples: fires ? [{ labels: "{}", value: 1 }] : [],
    }],
  };
}

const lack = !await hasProgram("promtool") && "there is no promtool here";

Deno.test("every alert is tested with series that make it fire, and with series that do not", () => {
  assert.deepEqual(Object.keys(CASES), rules.map(({ alert }) => alert));
});

testNeeding(
  "Prometheus accepts the alerts, and fires each alert only for the series of that alert",
  lack,
  async () => {
    await using folder = await openTempFolder();
    const file = `${folder.path}/test.json`;
    const tests = Object.entries(CASES).flatMap((
      [alert, { fires, silent }],
    ) => [ruleTest(alert, fires, true), ruleTest(alert, silent, false)]);
    await Deno.writeTextFile(
      file,
      JSON.stringify({
        rule_files: [fromFileUrl(FILE)],
        evaluation_interval: "1m",
        tests,
      }),
    );
    const ran = await runOther("promtool", ["test", "rules", file]);
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  },
);

testNeeding(
  "Prometheus accepts the documented configuration, which sends the alerts to a receiver",
  lack,
  async () => {
    const page = await Deno.readTextFile(PAGE);
    const text = [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)]
      .map(([, text = ""]) => text)
      .find((text) => /^scrape_configs:/m.test(text)) ?? "";
    assert.match(text, /^alerting:/m);
    await using folder = await openTempFolder();
    const file = `${folder.path}/prometheus.yml`;
    await Deno.writeTextFile(
      file,
      text.replace(/^rule_files: .*$/m, `rule_files: ["${fromFileUrl(FILE)}"]`),
    );
    const ran = await runOther("promtool", ["check", "config", file]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.ok(ran.stdout.includes(`${rules.length} rules found`));
  },
);

const place = z.strictObject({
  x: z.int().min(0),
  y: z.int().min(0),
  w: z.int().min(1),
  h: z.int().min(1),
});

const UNITS = ["short", "reqps", "percentunit", "currencyUSD", "s", "bytes"];

const graphSchema = z.strictObject({
  id: z.int(),
  type: z.enum(["timeseries", "stat"]),
  title: z.string().min(1),
  description: z.string().endsWith("."),
  gridPos: place,
  datasource: z.strictObject({
    type: z.literal("prometheus"),
    uid: z.literal("${datasource}"),
  }),
  fieldConfig: z.strictObject({
    defaults: z.strictObject({ unit: z.enum(UNITS), min: z.literal(0) }),
    overrides: z.tuple([]),
  }),
  targets: z.array(z.strictObject({
    refId: z.string().length(1),
    expr: z.string(),
    legendFormat: z.string().min(1),
  })).min(1),
});

const rowSchema = z.strictObject({
  id: z.int(),
  type: z.literal("row"),
  title: z.string().min(1),
  gridPos: place,
});

const dashboardSchema = z.looseObject({
  uid: z.literal("model-gateway"),
  schemaVersion: z.int().min(36),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string() })) }),
  panels: z.array(z.discriminatedUnion("type", [graphSchema, rowSchema])),
});

const text = await Deno.readTextFile(
  new URL("../../packaging/grafana.json", import.meta.url),
);
const { panels, templating } = dashboardSchema.parse(JSON.parse(text));
const targets = panels.flatMap((panel) =>
  panel.type === "row" ? [] : panel.targets
);

Deno.test("the dashboard names only metrics, labels and values that exist", async () => {
  const check = await checkExpressions();
  for (const { expr } of targets) check(expr);
});

Deno.test("the dashboard queries the chosen replicas, and uses only its own variables", () => {
  const own = templating.list.map(({ name }) => name);
  for (const { expr } of targets) {
    const metrics = expr.match(/\b(?:model_gateway|process)_\w+\{/g) ?? [];
    const chosen = expr.match(/instance=~"\$instance"/g) ?? [];
    assert.ok(metrics.length > 0, expr);
    assert.equal(chosen.length, metrics.length, expr);
  }
  for (const [, name = ""] of text.matchAll(/\$\{?([a-z_]+)/g)) {
    assert.ok(name === "__rate_interval" || own.includes(name), name);
  }
});

Deno.test("every legend names labels that its expression keeps", () => {
  for (const { expr, legendFormat } of targets) {
    for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      const [, kept] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
      const names = kept?.split(", ") ?? ["instance"];
      assert.ok(names.includes(label), `${label} in ${expr}`);
    }
  }
});

Deno.test("each panel of the dashboard has a unique id and covers no other", () => {
  const taken = new Set<string>();
  for (const { title, gridPos: { x, y, w, h } } of panels) {
    assert.ok(x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        const cell = `${column} ${line}`;
        assert.ok(!taken.has(cell), title);
        taken.add(cell);
      }
    }
  }
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});

testNeeding(
  "Prometheus parses every expression of the dashboard",
  lack,
  async () => {
    const rules = targets.map(({ expr }, index) => ({
      record: `panel_${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m"),
    }));
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(
      file,
      stringifyYaml({ groups: [{ name: "dashboard", rules }] }),
    );
    const ran = await runOther("promtool", ["check", "rules", file]);
    await Deno.remove(file);
    assert.equal(ran.code, 0, ran.stderr);
  },
);
