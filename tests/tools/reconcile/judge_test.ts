import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import type { Prices } from "../../../src/gateway/config/usage_limits.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { createLog } from "../../../src/gateway/observe/log.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
} from "../../support/gateway/config.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { JSON_HEADERS, piecewise } from "../../support/wire/answers.ts";
import { until } from "../../support/within.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { type Charge, reportsOf, type Tokens, usdOf } from "./ledger.ts";
import { reconcile } from "./run.ts";
import { steps } from "../../support/steps.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

// Agents use three providers with their own books. The log and the books differ for planted reasons, which `reconcile`
// must find.

const REQUESTS = 10_000;
const START_MS = Date.UTC(2026, 10, 10);
const DAYS = 3;
const ADMIN_KEY = "sk-admin-of-all";

function prices(input: number, output: number): Prices {
  return {
    input,
    cachedInput: input / 10,
    cacheWrite: input * 1.25,
    cacheWrite1h: input * 2,
    output,
  };
}

/** The reason why the costs in the log and the books differ; `fair` if they agree. */
type Planted =
  | "fair"
  | "other_use"
  | "no_usage"
  | "no_price"
  | "missing_rate"
  | "price_changed"
  | "tools";

/** A model of a provider, with its price in the books and in the configuration. */
interface Model {
  readonly host: string;
  readonly name: string;
  readonly list: Prices;
  /** The price in the configuration; absent for none. */
  readonly price?: JsonObject;
  /** Returns how a request departs from the usual one. */
  readonly vary: (roll: number, day: number) => {
    readonly tier?: string;
    readonly geo?: string;
    readonly speed?: string;
    readonly isLong?: boolean;
    readonly writes1h?: boolean;
    readonly isCut?: boolean;
    /** The factor on the list price. */
    readonly times?: number;
    readonly planted: Planted;
  };
}

const CLAUDE = "api.anthropic.com";
const GPT = "api.openai.com";
const ROUTER = "openrouter.ai";

const FULL = {
  input: 5,
  cached_input: 0.5,
  cache_write: 6.25,
  cache_write_1h: 10,
  output: 25,
};

const MODELS: readonly Model[] = [
  {
    host: CLAUDE,
    name: "claude-opus-5-5",
    list: prices(5, 25),
    price: {
      ...FULL,
      rates: [{ when: { service_tier: "batch" }, times: 0.5 }],
    },
    vary: (roll) =>
      roll < 10
        ? { geo: "us", times: 1.1, planted: "missing_rate" }
        : roll < 15
        ? { speed: "fast", times: 6, planted: "missing_rate" }
        : roll < 25
        ? { tier: "batch", times: 0.5, planted: "fair" }
        : roll < 30
        ? { isCut: true, planted: "no_usage" }
        : { planted: "fair" },
  },
  {
    host: CLAUDE,
    name: "claude-sonnet-5-5",
    list: prices(3, 15),
    price: { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 },
    vary: (roll) =>
      roll < 20
        ? { writes1h: true, planted: "missing_rate" }
        : { planted: "fair" },
  },
  {
    host: CLAUDE,
    name: "claude-haiku-5",
    list: prices(1, 5),
    vary: () => ({ planted: "no_price" }),
  },
  {
    host: GPT,
    name: "gpt-6.1-sol",
    list: prices(2, 12),
    price: { input: 2, cached_input: 0.2, output: 12 },
    vary: (roll) =>
      roll < 20
        ? { tier: "flex", times: 0.5, planted: "missing_rate" }
        : roll < 22
        ? { isLong: true, times: 2, planted: "missing_rate" }
        : { planted: "fair" },
  },
  {
    host: GPT,
    name: "gpt-6.1-luna",
    list: prices(0.5, 3),
    price: { input: 0.5, cached_input: 0.05, output: 3 },
    vary: (roll, day) =>
      day > 0
        ? { times: 1.2, planted: "price_changed" }
        : { isCut: roll < 5, planted: roll < 5 ? "no_usage" : "fair" },
  },
  {
    host: ROUTER,
    name: "z-ai/glm-5.1",
    list: prices(0.6, 2.2),
    price: { input: 0.6, cached_input: 0.06, output: 2.2 },
    vary: () => ({ planted: "fair" }),
  },
  {
    host: ROUTER,
    name: "moonshotai/kimi-k2.6",
    list: prices(1, 4),
    price: { input: 1, cached_input: 0.1, output: 4 },
    vary: () => ({ times: 1.25, planted: "price_changed" }),
  },
];

const SERVICES = [
  { host: CLAUDE, name: "Claude team", service: "anthropic" },
  { host: GPT, name: "GPT", service: "openai" },
  { host: ROUTER, name: "Router", service: "openrouter" },
];

const FILE = minimalFile({
  connections: SERVICES.map(({ host, name, service }) =>
    connectionFile({
      name,
      service,
      family: undefined,
      endpoints: undefined,
      auth: { key: "provider-key" },
      paths: ["chat", "messages", "responses"],
      models: MODELS.filter((model) => model.host === host)
        .map(({ name, price }) => ({ id: name, ...price && { price } })),
    })
  ),
});

/** Returns an answer's usage by the field names of its protocol. */
function usageOf(
  protocol: Protocol,
  { tokens, speed, tier, geo }: Charge,
): JsonObject {
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = tokens;
  const all = input + cachedInput + cacheWrite + cacheWrite1h;
  if (protocol === "messages") {
    return {
      input_tokens: input,
      cache_read_input_tokens: cachedInput,
      cache_creation_input_tokens: cacheWrite + cacheWrite1h,
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite,
        ephemeral_1h_input_tokens: cacheWrite1h,
      },
      output_tokens: output,
      service_tier: tier,
      inference_geo: geo,
      speed,
    };
  }
  return protocol === "chat"
    ? {
      prompt_tokens: all,
      completion_tokens: output,
      total_tokens: all + output,
      prompt_tokens_details: { cached_tokens: cachedInput },
    }
    : {
      input_tokens: all,
      input_tokens_details: { cached_tokens: cachedInput },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: all + output,
    };
}

/** Returns the protocol's recorded answer with this model and usage. */
function answer(
  protocol: Protocol,
  charge: Charge,
  isStream: boolean,
): Response {
  const { answer, start, output, end } = WIRES[protocol];
  const rendered = (text: string, output: number) => {
    const tokens = { ...charge.tokens, output };
    const usage = JSON.stringify(usageOf(protocol, { ...charge, tokens }));
    return text.replaceAll('"model":"upstream"', `"model":"${charge.model}"`)
      .replaceAll(
        '"object":"response"',
        `"object":"response","service_tier":"${charge.tier}"`,
      )
      .replace(/"usage":\{[^}]*\}/g, `"usage":${usage}`);
  };
  const whole = charge.tokens.output;
  return isStream
    ? piecewise([
      ...[rendered(start, 1), rendered(output, 1), rendered(end, whole)],
    ])
    : new Response(rendered(JSON.stringify(answer), whole), {
      headers: JSON_HEADERS,
    });
}

interface Truth {
  readonly usd: Record<Planted, number>;
  providerUsd: number;
}

async function world() {
  const random = createRandom(36);
  const clock = createFakeClock(START_MS);
  const books: Record<string, Charge[]> = {
    [CLAUDE]: [],
    [GPT]: [],
    [ROUTER]: [],
  };
  const truths: Record<string, Truth> = {};
  for (const host of Object.keys(books)) {
    truths[host] = {
      providerUsd: 0,
      usd: {
        fair: 0,
        other_use: 0,
        no_usage: 0,
        no_price: 0,
        missing_rate: 0,
        price_changed: 0,
        tools: 0,
      },
    };
  }
  const day = () => Math.floor((clock.now() - START_MS) / 86_400_000);

  function charge(model: Model, key: string) {
    const varied = model.vary(random.below(100), day());
    const { times = 1, isLong = false, writes1h = false } = varied;
    const written = model.host === CLAUDE ? random.below(20_000) : 0;
    const tokens: Tokens = {
      input: (isLong ? 280_000 : 100) + random.below(5000),
      cachedInput: random.below(100_000),
      cacheWrite: writes1h ? 0 : written,
      cacheWrite1h: writes1h ? written : 0,
      output: 50 + random.below(3000),
    };
    const list = model.list;
    const scaled = (price: number) => price * times;
    const one: Charge = {
      day: new Date(clock.now()).toISOString().slice(0, 10),
      model: model.name,
      tier: varied.tier ?? (model.host === CLAUDE ? "standard" : "default"),
      geo: varied.geo ?? "global",
      speed: varied.speed ?? "standard",
      isLong,
      key,
      tokens,
      prices: {
        input: scaled(list.input),
        cachedInput: scaled(list.cachedInput),
        cacheWrite: scaled(list.cacheWrite),
        cacheWrite1h: scaled(list.cacheWrite1h),
        output: scaled(list.output),
      },
      toolsUsd: model.name === "claude-opus-5-5" && random.below(50) === 0
        ? 0.01
        : 0,
    };
    return { one, varied };
  }

  function book(host: string, one: Charge): void {
    books[host]?.push(one);
    const truth = truths[host];
    if (truth === undefined) return;
    truth.providerUsd += usdOf(one) + one.toolsUsd;
    truth.usd.tools += one.toolsUsd;
  }

  let last: ReturnType<typeof charge> | undefined;
  const upstream: Fetch = async (url, init) => {
    const { hostname, pathname } = new URL(url);
    const body: unknown = await new Response(init.body).json();
    const name = isJsonObject(body) ? body.model : undefined;
    const model = MODELS.find((one) =>
      one.host === hostname && one.name === name
    );
    if (model === undefined) {
      throw new TypeError(`no model ${name} at ${hostname}`);
    }
    // An error of the provider, which it does not bill.
    if (random.below(200) === 0) {
      return new Response("{}", { status: 400, headers: JSON_HEADERS });
    }
    last = charge(model, "apikey_gateway");
    book(hostname, last.one);
    return answer(
      protocolOfPath(pathname),
      last.one,
      isJsonObject(body) && body.stream === true,
    );
  };

  let text = "";
  let newest: JsonObject = {};
  const gateway = createGateway({
    liveConfig: createLiveConfig(configOf(await loadFile(FILE))),
    fetch: upstream,
    clock,
    timers: createFakeTimers(),
    log: createLog({
      format: "json",
      now: clock.now,
      sink(line) {
        const fields: unknown = JSON.parse(line);
        text += line;
        if (isJsonObject(fields) && fields.event === "request") newest = fields;
      },
    }),
  });

  const protocols = ["chat", "messages", "responses"] as const;
  for (let index = 0; index < REQUESTS; index++) {
    clock.advance(Math.floor(DAYS * 86_400_000 / (REQUESTS + 1)));
    const model = random.pick(MODELS);
    const protocol = random.pick(protocols);
    last = undefined;
    newest = {};
    const stream = random.below(3) > 0;
    const chat = protocol === "chat" && stream
      ? { stream_options: { include_usage: true } }
      : {};
    const response = await gateway.handler(
      new Request(
        `http://gateway${PATHS[protocol]}`,
        ask(protocol, hello(protocol, { model: model.name, stream, ...chat })),
      ),
    );
    const charged = last as ReturnType<typeof charge> | undefined;
    const isCut = charged?.varied.isCut === true;
    const reader = response.body?.getReader();
    if (isCut && stream) {
      await reader?.read();
      await reader?.cancel();
    } else while ((await reader?.read())?.done === false);
    await until(() => newest.request_id !== undefined, "the line of a request");
    if (charged !== undefined) {
      const planted = charged.varied.planted === "no_usage" && !stream
        ? "fair"
        : charged.varied.planted;
      const truth = truths[model.host];
      const logged = typeof newest.cost_usd === "number" ? newest.cost_usd : 0;
      if (truth) truth.usd[planted] += usdOf(charged.one) - logged;
    }
    // Somebody uses the key of Claude and of the router without the gateway, and another key of the organization.
    if (index % 40 === 0 && model.host !== GPT && model.price) {
      const { one } = charge(
        { ...model, vary: () => model.vary(99, 0) },
        "apikey_gateway",
      );
      book(model.host, { ...one, toolsUsd: 0 });
      const truth = truths[model.host];
      if (truth) truth.usd.other_use += usdOf(one);
      books[model.host]?.push({ ...one, key: "apikey_other", toolsUsd: 0 });
    }
  }
  return { text, books, truths };
}

Deno.test("reconcile explains the difference between 10,000 requests of agents and three providers' books", async (t) => {
  const { text, books, truths } = await world();
  await using temp = await openTempFolder();
  const { path: folder } = temp;
  const lines = text.split(/(?<=\n)/);
  const half = Math.floor(lines.length / 2);
  const logs = [`${folder}/one.jsonl`, `${folder}/two.jsonl.gz`];
  await Deno.writeTextFile(logs[0] ?? "", lines.slice(0, half).join(""));
  await Deno.writeFile(logs[1] ?? "", gzipSync(lines.slice(half).join("")));
  await Deno.writeTextFile(`${folder}/gateway.yaml`, JSON.stringify(FILE));
  await Deno.writeTextFile(`${folder}/admin`, `${ADMIN_KEY}\n`);

  await steps(t, SERVICES, async ({ host, name }) => {
    const { code, out, error } = await reconcile([
      ...["--config", `${folder}/gateway.yaml`, "--from", "2026-11-10"],
      ...["--to", "2026-11-12", "--admin-key-file", `${folder}/admin`],
      ...["--key-id", "apikey_gateway", "--connection", name, "--json"],
      ...logs,
    ], { fetch: reportsOf(books, ADMIN_KEY) });
    assert.equal(error, "");
    assert.equal(code, 1);
    const report = JSON.parse(out);
    const truth = truths[host];
    assert.ok(truth);
    assert.ok(Math.abs(report.provider_usd - truth.providerUsd) < 1e-6);
    assert.ok(report.unexplained_percent <= 0.5);
    const found: Record<string, number> = {};
    for (const { causes } of report.data) {
      for (const { cause, usd } of causes) {
        found[cause] = (found[cause] ?? 0) + usd;
      }
    }
    const { fair: _, ...planted } = truth.usd;
    const named = Object.entries(planted).filter(([, usd]) => usd !== 0);
    assert.deepEqual(
      Object.keys(found).sort(),
      named.map(([one]) => one).sort(),
    );
    for (const [cause, usd] of named) {
      assert.ok(
        Math.abs((found[cause] ?? 0) - usd) <= 0.005 * truth.providerUsd,
        `${cause}: ${found[cause]}, not ${usd}, of ${truth.providerUsd}`,
      );
    }
  });
});
