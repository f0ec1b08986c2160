import assert from "node:assert/strict";

/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const HELP_REGEXP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S.*$/;
const TYPE_REGEXP =
  /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/;
const SAMPLE_REGEXP =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|-Inf|NaN)$/;
const LABEL_REGEXP = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?/y;

/**
 * Parses a scrape and checks it against the text format of Prometheus, version 0.0.4. Each metric must be one block
 * under its help and type. No series may appear twice, counters end in `_total`, and histograms must add up.
 */
export function readExposition(text: string): readonly Sample[] {
  assert.ok(text.endsWith("\n"), "The last line must end with a line feed");
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const series = new Set<string>();
  let helped = "";
  let current = "";
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const help = HELP_REGEXP.exec(line)?.[1];
    const [, typed, type = ""] = TYPE_REGEXP.exec(line) ?? [];
    if (help !== undefined) {
      helped = help;
    } else if (typed !== undefined) {
      assert.equal(typed, helped, "A type must follow its help");
      assert.ok(!types.has(typed), `${typed} appears twice`);
      types.set(typed, type);
      current = typed;
    } else {
      const sample = readSample(line);
      const key = JSON.stringify([
        sample.name,
        Object.entries(sample.labels).sort(),
      ]);
      assert.ok(!series.has(key), `There is a second ${key}`);
      series.add(key);
      const isPart = /^_(bucket|sum|count)$/.test(
        sample.name.slice(current.length),
      );
      assert.ok(sample.name.startsWith(current), line);
      assert.ok(
        types.get(current) === "histogram" ? isPart : sample.name === current,
        line,
      );
      samples.push(sample);
    }
  }
  for (const [name, type] of types) {
    if (type === "counter") assert.match(name, /_total$/);
    if (type === "histogram") checkHistogram(name, samples);
  }
  return samples;
}

/** Returns the sum of a metric's samples with these labels; 0 when there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter((one) => one.name === name)
    .filter((one) =>
      Object.entries(labels).every(([key, value]) => one.labels[key] === value)
    )
    .reduce((sum, { value }) => sum + value, 0);
}

function readSample(line: string): Sample {
  const [, name = "", list = "", value = ""] = SAMPLE_REGEXP.exec(line) ?? [];
  assert.notEqual(name, "", `This is no sample: ${line}`);
  const labels: [string, string][] = [];
  let read = 0;
  for (const [whole, key = "", escaped = ""] of list.matchAll(sticky())) {
    read += whole.length;
    labels.push([key, unescape(escaped)]);
  }
  assert.equal(read, list.length, `These are no labels: ${list}`);
  return {
    name,
    labels: Object.fromEntries(labels),
    value: value === "+Inf" ? Infinity : Number(value),
  };
}

function sticky(): RegExp {
  return new RegExp(LABEL_REGEXP.source, "gy");
}

function unescape(text: string): string {
  return text.replace(
    /\\(["\\n])/g,
    (_, letter) => letter === "n" ? "\n" : letter,
  );
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const counts = samples.filter((one) => one.name === `${name}_count`);
  for (const count of counts) {
    const buckets = samples.filter((one) =>
      one.name === `${name}_bucket` &&
      Object.entries(count.labels).every(([key, value]) =>
        one.labels[key] === value
      )
    );
    const values = buckets.map(({ value }) => value);
    assert.deepEqual(values, [...values].sort((a, b) => a - b), name);
    assert.equal(buckets.at(-1)?.labels.le, "+Inf");
    assert.equal(values.at(-1), count.value);
  }
}
