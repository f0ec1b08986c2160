/**
 * Measures the cost of counting and limits: microseconds per request, bytes per stored number, and
 * the time to load a configuration with many tokens. Run it with `deno task bench:counting`.
 */
import process from "node:process";
import { loadConfig } from "../../src/gateway/config/load.ts";
import { createLiveConfig } from "../../src/gateway/config/live_config.ts";
import type { Caller, Config } from "../../src/gateway/config/config.ts";
import { systemClock } from "../../src/base/time/timers.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { openRecord } from "../../src/gateway/observe/record.ts";
import { endRequest } from "../../src/gateway/relay/end_request.ts";
import { Holds } from "../../src/gateway/relay/exchange.ts";
import { createMemorySums } from "../../src/gateway/usage/memory_sums.ts";
import { createUsageService } from "../../src/gateway/usage/service.ts";

const TOKENS = 20_000;

const LIMITS = [
  { window: "minute", requests: 1_000_000 },
  { window: "day", tokens: 1_000_000_000 },
  { window: "week", cost: 100_000 },
];

function fileOf(hasLimits: boolean): string {
  return JSON.stringify({
    connections: [{
      name: "main",
      service: "zai",
      auth: { key: "key" },
      models: [{ id: "model", price: { input: 1, output: 5 } }],
    }],
    groups: hasLimits ? { team: { limits: LIMITS } } : {},
    tokens: Array.from({ length: TOKENS }, (_, index) => ({
      name: `token ${index}`,
      sha256: sha256Hex(`token ${index}`),
      connections: ["*"],
      ...(hasLimits ? { group: "team", limits: LIMITS } : {}),
    })),
  });
}

/** Collects garbage, and returns the size of the heap in MB. */
function heapMb(): number {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect === "function") collect();
  return Deno.memoryUsage().heapUsed / 1e6;
}

async function load(hasLimits: boolean): Promise<Config> {
  const text = fileOf(hasLimits);
  const before = heapMb();
  const started = process.cpuUsage();
  const result = await loadConfig(text, {
    env: () => undefined,
    readFile: () => Promise.reject(new Error("There are no files")),
    listFiles: () => Promise.resolve([]),
    nowMs: Date.now(),
  });
  const { user, system } = process.cpuUsage(started);
  const tookMs = (user + system) / 1000;
  if ("problems" in result) throw new Error(JSON.stringify(result.problems));
  console.log(
    `${TOKENS} tokens ${hasLimits ? "with" : "without"} limits: loaded in ${
      tookMs.toFixed(0)
    } ms of processor time, ${(heapMb() - before).toFixed(1)} MB`,
  );
  return result.config;
}

/** Creates the counting part of a gateway. `serve` counts one request. */
function createRequests(config: Config) {
  const sums = createMemorySums(systemClock);
  const log = { write() {} };
  const service = createUsageService({
    sums,
    liveConfig: createLiveConfig(config),
    quotas: {
      known: () => [],
      read: () => Promise.reject(new Error("Nobody reads")),
    },
    log,
    clock: systemClock,
  });
  const [pool] = config.pools.values();
  const [deployment] = pool ?? [];
  if (deployment === undefined) throw new Error("There is no deployment");
  return {
    sums,
    serve(caller: Caller, isCounted: boolean): void {
      const record = openRecord("req", "POST", { clock: systemClock, log });
      const holds = new Holds();
      if (isCounted) {
        const tally = service.open({ record, caller, estimatedTokens: 500 });
        holds.tally = tally;
        void tally.enter([deployment]);
      }
      record.facts.status = 200;
      record.facts.connection = deployment.connection.name;
      record.facts.answer.usage = { inputTokens: 600, outputTokens: 90 };
      endRequest({ record, holds }, "complete");
    },
  };
}

const ROUNDS = 20;
const REQUESTS = 20_000;

/** Returns the median of some rounds, in microseconds of processor time per request. */
function timeOf(config: Config, isCounted: boolean): number {
  const [caller] = config.callers.values();
  if (caller === undefined) throw new Error("There is no caller");
  const { serve } = createRequests(config);
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let count = 0; count < REQUESTS; count++) serve(caller, isCounted);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / REQUESTS;
  }).sort((one, other) => one - other);
  return times[ROUNDS / 2] ?? NaN;
}

function reportTimes(what: string, config: Config): void {
  const without = timeOf(config, false);
  const counted = timeOf(config, true);
  console.log(
    `${what}: ${
      (counted - without).toFixed(2)
    } µs a request (a record and its line alone: ${without.toFixed(2)} µs)`,
  );
}

function reportMemory(what: string, config: Config): void {
  const { sums, serve } = createRequests(config);
  const callers = [...new Set(config.callers.values())];
  const before = heapMb();
  for (const caller of callers) serve(caller, true);
  const grownMb = heapMb() - before;
  console.log(
    `${what}, each token once: ${
      grownMb.toFixed(1)
    } MB, ${sums.size} numbers, ${
      (grownMb * 1e6 / sums.size).toFixed(0)
    } bytes a number`,
  );
}

for (const hasLimits of [false, true]) {
  const config = await load(hasLimits);
  const what = hasLimits ? "counting and limits" : "counting";
  reportTimes(what, config);
  reportMemory(what, config);
}
