import assert from "node:assert/strict";
import type {
  Caller,
  Config,
  Connection,
} from "../../../src/gateway/config/config.ts";
import {
  createHarvest,
  type Harvest,
} from "../../../src/gateway/quotas/harvest.ts";
import type { ConnectionEntry, QuotaList } from "@gateway/page/answers";
import {
  createPoller,
  type Poller,
} from "../../../src/gateway/quotas/poller.ts";
import {
  createQuotaService,
  type QuotaService,
} from "../../../src/gateway/quotas/service.ts";
import { minimalConfig, NOW_MS } from "../../support/gateway/config.ts";
import {
  createFakeClock,
  type FakeClock,
} from "../../support/fakes/fake_clock.ts";
import { noAnswer } from "../../support/wire/answers.ts";
import { fixture } from "./quota_case.ts";

type PollerOptions = Parameters<typeof createPoller>[0];

/** The response of a simulated provider to a request. */
export type Script = (signal: AbortSignal) => Response | Promise<Response>;

/** A limits service with simulated providers and a clock that stands still. */
export interface Harness {
  readonly service: QuotaService;
  readonly poller: Poller;
  readonly harvest: Harvest;
  readonly clock: FakeClock;
  /** Scripts by host name. A provider without a script answers with credits. */
  readonly scripts: Map<string, Script>;
  /** The requested host names, in order. */
  readonly calls: string[];
  /** All deadlines, in order. */
  readonly deadlines: { readonly ms: number; expire(): void }[];
  /** The log lines. */
  readonly lines: Readonly<Record<string, unknown>>[];
}

/**
 * Creates a {@linkcode Harness}.
 *
 * @param shared The connections to other gateways that share readings.
 */
export function createHarness(
  shared: Pick<PollerOptions, "sharedReadings" | "onRead"> = {},
): Harness {
  const clock = createFakeClock(NOW_MS);
  const harvest = createHarvest({ clock });
  const scripts = new Map<string, Script>();
  const calls: string[] = [];
  const deadlines: Harness["deadlines"] = [];
  const lines: Harness["lines"] = [];
  const deadline = (ms: number) => {
    const controller = new AbortController();
    const expire = () =>
      controller.abort(new DOMException("over", "TimeoutError"));
    deadlines.push({ ms, expire });
    return controller.signal;
  };
  const poller = createPoller({
    clock,
    deadline,
    ...shared,
    fetch: async (url, { signal }) => {
      const host = new URL(url).hostname;
      calls.push(host);
      assert.ok(signal);
      return await (scripts.get(host) ?? credits)(signal);
    },
    log: { write: (event, fields) => void lines.push({ event, ...fields }) },
  });
  const service = createQuotaService({ clock, harvest, poller, deadline });
  return { service, poller, harvest, clock, scripts, calls, deadlines, lines };
}

/** Answers with the windows of `zai/credits`. */
export function credits(): Response {
  return Response.json(fixture("zai/credits"));
}

/** Waits until its signal aborts. */
export function hang(signal: AbortSignal): Promise<Response> {
  return noAnswer({ signal });
}

/** Returns a script that waits, and the function that makes it answer. */
export function held(): { script: Script; answer(response: Response): void } {
  const { promise, resolve } = Promise.withResolvers<Response>();
  return { script: () => promise, answer: resolve };
}

/** Returns a configuration with these connections, and the default budget and cache. */
export async function configWith(
  ...connections: readonly Connection[]
): Promise<Config> {
  return { ...await minimalConfig(), connections };
}

/** Returns a caller with these connections. */
export function callerOf(...connections: readonly Connection[]): Caller {
  return {
    name: "alice",
    sha256: "0".repeat(64),
    expiresAtMs: undefined,
    connectionIds: new Set(connections.map(({ id }) => id)),
    models: undefined,
    groups: [],
    limits: [],
    maxConcurrent: 256,
    weight: 1,
  };
}

/** Returns the entry of a connection. */
export function entryOf(list: QuotaList, name: string): ConnectionEntry {
  const entry = list.data.find((one) => one.name === name);
  assert.ok(entry, `There is no entry of ${name}`);
  return entry;
}

/** Lets everything run that does not wait for the clock. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}
