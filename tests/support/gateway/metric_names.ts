import assert from "node:assert/strict";
import {
  CACHE_MISSES,
  FAILURES,
  MOVES,
  WAITS,
} from "../../../src/gateway/observe/facts.ts";
import { everyMetric } from "./every_metric.ts";
import { readExposition } from "./exposition.ts";

/** Fails unless an expression of PromQL names only metrics and labels that exist. */
export type CheckExpression = (expression: string) => void;

/** The labels that Prometheus adds to each sample. */
const SCRAPE_LABELS = ["job", "instance"];

/** The values that a matcher may name, for labels with a fixed set of values. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  failure: Object.keys(FAILURES),
  status: ["1xx", "2xx", "3xx", "4xx", "5xx", "none"],
  ended: ["complete", "client_abort", "upstream_broken", "error"],
  kind: ["input", "cached_input", "cache_write", "output", "reasoning"],
  reason: Object.keys({ ...FAILURES, ...MOVES, ...WAITS }),
  mode: ["native", "translated", "none"],
  outcome: ["near", "refused"],
  cause: Object.keys(CACHE_MISSES),
};

/** Creates the check from a scrape with every metric. */
export async function checkExpressions(): Promise<CheckExpression> {
  const labels = new Map<string, Set<string>>([["up", new Set()]]);
  for (const sample of readExposition(await everyMetric())) {
    labels.set(sample.name, new Set(Object.keys(sample.labels)));
  }
  return (expression) => {
    const used = [
      ...expression.matchAll(
        /\b((?:model_gateway|process)_\w+|up)\b({[^}]*})?/g,
      ),
    ];
    assert.ok(used.length > 0, expression);
    const all = new Set(SCRAPE_LABELS);
    for (const [, name = "", matchers = ""] of used) {
      const known = labels.get(name);
      assert.ok(known !== undefined, `${name} does not exist`);
      known.forEach((label) => all.add(label));
      for (
        const [, label = "", operator = "", value = ""] of matchers.matchAll(
          /(\w+)(=~|!~|!=|=)"([^"]*)"/g,
        )
      ) {
        assert.ok(
          known.has(label) || SCRAPE_LABELS.includes(label),
          `${name} has no label ${label}`,
        );
        checkValue(label, operator.includes("~") ? value.split("|") : [value]);
      }
    }
    for (const [, list = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
      for (const label of list.split(",").map((one) => one.trim())) {
        assert.ok(all.has(label), `${label} is no label in ${expression}`);
      }
    }
  };
}

function checkValue(label: string, values: readonly string[]): void {
  const known = VALUES[label];
  if (known === undefined) return;
  for (const value of values) {
    assert.ok(
      value.startsWith("$") || known.includes(value),
      `${label} is never ${value}`,
    );
  }
}
