import assert from "node:assert/strict";
import { z } from "zod";
import { stringifyYaml } from "../../src/core/std.ts";
import { checkExpressions } from "../support/gateway/metric_names.ts";
import { hasProgram } from "../support/program/has_program.ts";

const place = z.strictObject({
  x: z.int().min(0),
  y: z.int().min(0),
  w: z.int().min(1),
  h: z.int().min(1),
});

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
    defaults: z.strictObject({
      unit: z.enum([
        "short",
        "reqps",
        "percentunit",
        "currencyUSD",
        "s",
        "bytes",
      ]),
      min: z.literal(0),
    }),
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
  templating: z.object({
    list: z.array(z.looseObject({ name: z.string() })),
  }),
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

Deno.test("no panel of the dashboard has another's id or covers another", () => {
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

const hasPromtool = await hasProgram("promtool");

Deno.test({
  name: hasPromtool
    ? "Prometheus parses every expression of the dashboard"
    : "Prometheus parses every expression of the dashboard (ignored: there is no promtool here)",
  ignore: !hasPromtool,
  async fn() {
    const rules = targets.map(({ expr }, index) => ({
      record: `panel_${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m"),
    }));
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(
      file,
      stringifyYaml({ groups: [{ name: "dashboard", rules }] }),
    );
    const { success, stderr } = await new Deno.Command("promtool", {
      args: ["check", "rules", file],
    }).output();
    await Deno.remove(file);
    assert.ok(success, new TextDecoder().decode(stderr));
  },
});
