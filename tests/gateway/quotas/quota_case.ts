import assert from "node:assert/strict";
import type {
  Connection,
  QuotaConfig,
  UpstreamAuth,
} from "../../../src/gateway/config/config.ts";
import { readerOf } from "../../../src/gateway/quotas/readers/mod.ts";
import type {
  QuotaRequest,
  QuotaSource,
} from "../../../src/gateway/quotas/readers/reader.ts";
import { QuotaFailure } from "../../../src/gateway/quotas/failure.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { NOW_MS } from "../../support/gateway/config.ts";

/** The key of the connections of {@linkcode connectionOf}. */
export const KEY = "sk-connection-key";

/** The parts of a connection that its quota needs. */
export interface ConnectionParts {
  readonly name?: string;
  readonly base?: string;
  readonly auth?: UpstreamAuth;
  readonly enabled?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly quota?: Partial<QuotaConfig>;
}

/** Returns a connection with a quota of this kind. Its id and name are derived from `name`. */
export function connectionOf(
  kind: QuotaConfig["kind"] | undefined,
  parts: ConnectionParts = {},
): Connection {
  const name = parts.name ?? "main";
  return {
    name,
    id: `id-of-${name}`,
    service: "custom",
    family: "A",
    enabled: parts.enabled ?? true,
    endpoints: { chat: parts.base ?? "https://quota.example/v1" },
    paths: [],
    auth: parts.auth ?? { scheme: "bearer", key: KEY },
    headers: parts.headers ?? {},
    headersDrop: {},
    streamOnly: false,
    force: {},
    omit: [],
    strict: false,
    quota: kind && quotaOf(kind, parts.quota),
    maxConcurrent: undefined,
    queue: undefined,
    timeouts: {
      connectMs: 0,
      firstByteMs: 0,
      firstOutputMs: 0,
      idleMs: 0,
      bodyMs: 0,
    },
    models: [],
  };
}

function quotaOf(
  kind: QuotaConfig["kind"],
  overrides: Partial<QuotaConfig> = {},
): QuotaConfig {
  return {
    kind,
    plan: "personal",
    organization: undefined,
    project: undefined,
    url: undefined,
    key: undefined,
    json: undefined,
    ...overrides,
  };
}

/** Returns a connection with the settings of its quota. */
export function sourceOf(
  kind: QuotaConfig["kind"],
  parts: ConnectionParts = {},
): QuotaSource {
  const quota = quotaOf(kind, parts.quota);
  return { connection: connectionOf(kind, parts), quota };
}

/** Returns the requests of a connection's reader. */
export function requestsOf(source: QuotaSource): readonly QuotaRequest[] {
  const { poll } = readerOf(source.quota);
  assert.ok(poll);
  return poll.requests(source);
}

/** Returns the windows that a connection's reader finds in these bodies, at {@linkcode NOW_MS}. */
export function parse(
  source: QuotaSource,
  ...bodies: readonly unknown[]
): QuotaWindow[] {
  const { poll } = readerOf(source.quota);
  assert.ok(poll);
  return poll.parse(bodies, { source, nowMs: NOW_MS });
}

/** Asserts that `work` throws a {@linkcode QuotaFailure} with this reason. */
export function assertFailure(
  work: () => unknown,
  reason: QuotaFailure["reason"],
): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof QuotaFailure, String(error));
    assert.equal(error.reason, reason);
    return true;
  });
}

/** The `period_unit` and `period_count` of each named window. */
const PERIODS: Readonly<Record<string, readonly [number, number]>> = {
  minute: [2, 1],
  hourly: [3, 1],
  three_hour: [3, 3],
  four_hour: [3, 4],
  five_hour: [3, 5],
  twelve_hour: [3, 12],
  daily: [4, 1],
  monthly: [5, 1],
  weekly: [6, 1],
};

/**
 * An expected window.
 *
 * @param row `type`, `window`, `unit`, `limit`, `used`, `remaining`, `used_percent` and, if there is one, `resets_at`,
 *   with spaces between; `-` is null.
 * @param others Fields that the row does not give, such as an odd period.
 */
export function windowOf(
  row: string,
  others: Partial<QuotaWindow> = {},
): QuotaWindow {
  const [type = "", window = "", unit = "", ...rest] = row.split(" ");
  const [limit, used, remaining, used_percent] = rest.slice(0, 4)
    .map((digits) => digits === "-" ? null : Number(digits));
  assert.ok(rest.length >= 4 && used_percent !== undefined, row);
  const [period_unit = null, period_count = null] = PERIODS[window] ?? [];
  return {
    type,
    window,
    unit,
    period_unit,
    period_count,
    limit: limit ?? null,
    used: used ?? null,
    remaining: remaining ?? null,
    used_percent,
    resets_at: rest[4] ?? null,
    ...others,
  };
}

/** Asserts that there are exactly these windows, as rows of {@linkcode windowOf}. */
export function assertWindows(
  found: readonly QuotaWindow[] | undefined,
  rows: readonly string[],
): void {
  assert.deepEqual(found, rows.map((row) => windowOf(row)));
}

const FIXTURES = new URL("../../fixtures/quota/", import.meta.url);

/** Returns a quota answer from the fixtures, such as `zai/credits`. */
export function fixture(name: string): unknown {
  return JSON.parse(Deno.readTextFileSync(new URL(`${name}.json`, FIXTURES)));
}

/** Returns the names of all quota answers in the fixtures. */
export function fixtureNames(): string[] {
  return filesBelow(FIXTURES).map((name) => name.replace(/\.json$/, ""));
}

/** The folder of recorded answers of real providers, beside the repository. It may be missing. */
const SAMPLES = new URL("../../../../shared/samples/quota/", import.meta.url);

/** Returns the recorded answer in a file of {@linkcode sampleNames}. */
export function sample(name: string): unknown {
  return JSON.parse(Deno.readTextFileSync(new URL(name, SAMPLES)));
}

/** Returns the files of all recorded answers, such as `zai/subscription-list.pro.json`. */
export function sampleNames(): string[] {
  try {
    return filesBelow(SAMPLES);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Returns the JSON files one folder down, in order. */
function filesBelow(root: URL): string[] {
  return [...Deno.readDirSync(root)].filter((entry) => entry.isDirectory)
    .flatMap(({ name }) =>
      [...Deno.readDirSync(new URL(`${name}/`, root))]
        .filter((file) => file.name.endsWith(".json"))
        .map((file) => `${name}/${file.name}`)
    ).sort();
}
