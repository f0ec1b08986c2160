import type {
  Connection,
  ConnectionModel,
  Prices,
} from "@gateway/gateway/config";
import type { LoggedRequest } from "@gateway/gateway/log";
import {
  isFormOf,
  PRICE_NAMES,
  pricesFor,
  tokensByPrice,
} from "@gateway/gateway/usage";
import type { Usage } from "@gateway/codecs";
import type { Days } from "../usage/add_logs.ts";
import {
  type BilledKind,
  type BillLine,
  type Provider,
  whenOf,
} from "./reports.ts";

/** The causes of a difference, and what each means. */
export const CAUSES = {
  other_use: "other use of the key",
  no_usage: "usage not reported",
  no_price: "no price",
  missing_rate: "no such rate",
  price_changed: "another price",
  tools: "the provider's tools",
  not_billed: "not on the bill",
} as const;

/** A part of a difference. */
interface Cause {
  readonly cause: keyof typeof CAUSES;
  readonly usd: number;
  /** The line that corrects the configuration, or a remark; empty for a cause that needs neither. */
  readonly detail: string;
}

/** The cost of a model on one day, by the provider's bill and by the log. */
export interface Difference {
  readonly day: string;
  readonly model: string;
  readonly providerUsd: number;
  readonly logUsd: number;
  readonly causes: readonly Cause[];
}

/** The tokens of one kind at one price. */
interface Cell {
  readonly when: string;
  readonly kind: BilledKind;
  billed: number;
  billedUsd: number;
  /**
   * The logged tokens whose requests have a cost in the log, and the cost of these tokens by the configuration's
   * prices.
   */
  priced: number;
  pricedUsd: number;
  /**
   * The logged tokens whose requests have no cost in the log, and the cost of these tokens by the configuration's
   * prices; 0 for a model without a price.
   */
  unpriced: number;
  unpricedUsd: number;
  /**
   * The estimated tokens (`estimated`), the number of requests with estimated tokens (`unsure`), and the number of
   * other requests (`exact`).
   */
  estimated: number;
  unsure: number;
  exact: number;
}

/** One unit of the comparison: a model on one day. */
interface Row {
  readonly day: string;
  readonly model: string;
  readonly cells: Map<string, Cell>;
  logUsd: number;
  /** The number of requests on the bill; `undefined` while no line of the bill has counted requests. */
  billedRequests: number | undefined;
  requests: number;
  unsure: number;
  /** The number of attempts without a response. The provider may bill such attempts. */
  unanswered: number;
}

/** A comparison of a log with a bill, to which their lines are added. */
interface Comparing {
  addRequest(request: LoggedRequest): void;
  addBill(lines: readonly BillLine[]): void;
  finish(): readonly Difference[];
}

/** Compares a log with the bill of some connections to one provider. */
export function createComparison(
  { connections, provider, days }: {
    readonly connections: readonly Connection[];
    readonly provider: Provider;
    readonly days: Days;
  },
): Comparing {
  const rows = new Map<string, Row>();
  const isWanted = (day: string) => day >= days.from && day <= days.to;

  function rowOf(day: string, model: string): Row {
    return getOrAdd(rows, `${day} ${model}`, () => ({
      ...{ day, model, cells: new Map(), billedRequests: undefined },
      ...{ logUsd: 0, requests: 0, unsure: 0, unanswered: 0 },
    }));
  }

  function addUse(row: Row, usage: Usage, { costUsd, isEstimated, prices }: {
    readonly costUsd: number | undefined;
    readonly isEstimated: boolean;
    readonly prices: Prices | undefined;
  }): void {
    const when = whenOf(usage, provider);
    const tokens = tokensByPrice(usage);
    for (const name of PRICE_NAMES) {
      const cell = cellOf(row, when, provider.isSplit ? name : "all");
      const count = tokens[name];
      const usd = count * (prices?.[name] ?? 0) / 1e6;
      const [amount, dollars] = costUsd === undefined
        ? ["unpriced", "unpricedUsd"] as const
        : ["priced", "pricedUsd"] as const;
      cell[amount] += count;
      cell[dollars] += usd;
      if (isEstimated) cell.estimated += count;
      cell[isEstimated ? "unsure" : "exact"]++;
    }
    row.logUsd += costUsd ?? 0;
  }

  return {
    addRequest(request) {
      const startedMs = Date.parse(request.time) - request.totalMs;
      const day = new Date(startedMs).toISOString().slice(0, 10);
      if (!isWanted(day)) return;
      const find = (connection: string) =>
        connections.find(({ name }) => name === connection);
      for (const { connection, model = "" } of request.unanswered) {
        if (find(connection)) rowOf(day, model).unanswered++;
      }
      const models = find(request.connection)?.models;
      if (models === undefined) return;
      for (const use of [request, ...request.others]) {
        const { model = "", costUsd } = use;
        // The bill does not contain refused requests for which a rate sets the price to zero.
        const isFree = request.refusal !== undefined && costUsd === 0;
        if (isFree || use.inputTokens + use.outputTokens === 0) continue;
        const row = rowOf(day, model);
        const isEstimated = use === request && request.isEstimated;
        if (use === request) row.requests++;
        if (isEstimated) row.unsure++;
        const usage = { ...request, ...use, others: [] };
        const price = models.find(({ id }) => id === model)?.price;
        const prices = price && pricesFor(usage, price, startedMs);
        addUse(row, usage, { costUsd, isEstimated, prices });
      }
    },
    addBill(lines) {
      const models = connections.flatMap(({ models }) => models);
      for (const { day, model, when, kind, tokens, usd, requests } of lines) {
        if (!isWanted(day)) continue;
        const row = rowOf(day, modelId(model, models));
        const cell = cellOf(row, when, kind);
        cell.billed += tokens;
        cell.billedUsd += usd;
        if (requests === undefined) continue;
        row.billedRequests = (row.billedRequests ?? 0) + requests;
      }
    },
    finish() {
      const all = [...rows.values()];
      all.forEach(foldUnknown);
      return all.map((row) => explain(row, all));
    },
  };
}

/** The fields of a cell that hold amounts from the log. */
const LOGGED = [
  "priced",
  "pricedUsd",
  "unpriced",
  "unpricedUsd",
  "estimated",
  "unsure",
  "exact",
] as const;

/** Moves logged tokens from a special price to the usual price, if the bill has no tokens at that special price. */
function foldUnknown(row: Row): void {
  const cells = [...row.cells.values()];
  const billed = cells.filter((cell) => cell.billed > 0).map(({ when }) =>
    when
  );
  for (const cell of cells) {
    if (cell.when === "" || billed.includes(cell.when)) continue;
    const usual = cellOf(row, "", cell.kind);
    for (const name of LOGGED) {
      [usual[name], cell[name]] = [usual[name] + cell[name], 0];
    }
  }
}

/**
 * Returns the configuration's id of a model that the bill names. Returns the provider's name when the configuration has
 * no such model.
 */
function modelId(name: string, models: readonly ConnectionModel[]): string {
  const found = models.find(({ upstream }) => upstream === name) ??
    models.find(({ upstream }) => isFormOf(name, upstream));
  return found?.id ?? name;
}

function getOrAdd<Value>(
  map: Map<string, Value>,
  key: string,
  make: () => Value,
): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

function cellOf({ cells }: Row, when: string, kind: BilledKind): Cell {
  return getOrAdd(cells, `${kind} ${when}`, () => ({
    ...{ when, kind, billed: 0, billedUsd: 0, priced: 0, pricedUsd: 0 },
    ...{ unpriced: 0, unpricedUsd: 0, estimated: 0, unsure: 0, exact: 0 },
  }));
}

/**
 * The smallest amount that counts as a cause, in dollars. Smaller amounts come from rounding: costs are rounded to
 * nano-dollars, bills to parts of a cent.
 */
const MIN_USD = 0.0001;

/**
 * If a mean price per token differs by less than this share, another mix of input and output tokens may be the reason.
 */
const MIX_ERROR = 0.03;

/** Returns the difference of a row with its causes. */
function explain(row: Row, all: readonly Row[]): Difference {
  const { day, model, logUsd } = row;
  const causes = new Map<string, Cause>();
  const add = (cause: Cause["cause"], usd: number, detail = "") => {
    if (Math.abs(usd) < MIN_USD) return;
    const before = causes.get(cause + detail)?.usd ?? 0;
    causes.set(cause + detail, { cause, usd: before + usd, detail });
  };
  let [providerUsd, pricedUsd] = [0, 0];
  const value = { surplus: 0, logged: 0, noUsage: 0 };
  for (const cell of row.cells.values()) {
    const { kind, billed, billedUsd, priced, unpriced, estimated } = cell;
    const { unpricedUsd } = cell;
    providerUsd += billedUsd;
    pricedUsd += cell.pricedUsd;
    if (kind === "tools") {
      add("tools", billedUsd);
      continue;
    }
    const logged = priced + unpriced;
    // The mean price also counts the tokens without a cost, because they may be another mix of kinds.
    const own = unpricedUsd > 0
      ? (cell.pricedUsd + unpricedUsd) / logged
      : priced > 0
      ? cell.pricedUsd / priced
      : undefined;
    const mean = priceOf(cell, all.filter((one) => one.model === model));
    // The mean price of all kinds of tokens is inexact when other users of the key sent another mix of kinds.
    const isMix = kind === "all" && billed !== logged && own !== undefined &&
      mean !== undefined && Math.abs(mean / own - 1) < MIX_ERROR;
    const price = isMix ? own : mean ?? own ?? 0;
    value.surplus += billedUsd - logged * price;
    value.logged += logged * price;
    if (cell.unsure > 0 && cell.exact > 0) {
      const usual = (logged - estimated) / cell.exact;
      value.noUsage += (cell.unsure * usual - estimated) * price;
    }
    add(
      "no_price",
      own !== undefined && unpricedUsd > 0
        ? unpricedUsd * price / own
        : unpriced * price,
    );
    if (own === undefined || isAlike(price, own)) continue;
    const [cause, detail] = nameOf(cell, price / own, row);
    add(cause, cell.pricedUsd * (price / own - 1), detail);
  }
  // The costs in the log may be by older prices than the configuration has now.
  add(
    "price_changed",
    pricedUsd - logUsd,
    "the log was written with older prices",
  );
  for (const [cause, usd] of surplusOf(row, value)) add(cause, usd);
  const list = [...causes.values()];
  return { day, model, providerUsd, logUsd, causes: list };
}

/**
 * Returns the provider's dollars per token. If the provider billed no such tokens on this day, takes the price of
 * another day.
 */
function priceOf(cell: Cell, days: readonly Row[]): number | undefined {
  const { kind, when } = cell;
  const found = [cell, ...days.map(({ cells }) => cells.get(`${kind} ${when}`))]
    .find((one) => one !== undefined && one.billed > 0);
  return found && found.billedUsd / found.billed;
}

/** Returns true when the difference of two prices may come from rounding. */
function isAlike(one: number, other: number): boolean {
  return one === other || Math.abs(one / other - 1) < 0.001;
}

/**
 * Returns the cause of a provider's price that is `ratio` times the configured price, and the line that corrects the
 * configuration.
 */
function nameOf(
  { kind, when, priced, pricedUsd }: Cell,
  ratio: number,
  { cells }: Row,
): readonly [Cause["cause"], string] {
  const ratioOf = (cell: Cell | undefined) =>
    cell && cell.billed * cell.pricedUsd > 0
      ? cell.billedUsd / cell.billed * cell.priced / cell.pricedUsd
      : 1;
  const times = `times: ${Number(ratio.toPrecision(kind === "all" ? 3 : 4))}`;
  if (when !== "" && !isAlike(ratio, ratioOf(cells.get(`${kind} `)))) {
    return ["missing_rate", `{ when: { ${when} }, ${times} }`];
  }
  if (kind === "all") return ["price_changed", times];
  const perMillion = Number((1e6 * ratio * pricedUsd / priced).toPrecision(6));
  const name = kind.replace(/[A-Z1]/g, (sign) => `_${sign.toLowerCase()}`);
  const isLifetime = kind === "cacheWrite1h" &&
    isAlike(1, ratioOf(cells.get("input ")));
  const cause = isLifetime ? "missing_rate" : "price_changed";
  return [cause, `${name}: ${perMillion}`];
}

/**
 * Divides the cost that only the bill has into causes: a part for requests whose usage is unknown, and the rest for
 * other users of the key.
 */
function surplusOf(
  { requests, unsure, unanswered, billedRequests = Infinity }: Row,
  { surplus, logged, noUsage }: Readonly<
    Record<"surplus" | "logged" | "noUsage", number>
  >,
): readonly (readonly [Cause["cause"], number])[] {
  const more = billedRequests - requests;
  const lost = Math.min(unanswered, Math.max(0, more));
  if (more <= lost && unsure + lost > 0) return [["no_usage", surplus]];
  if (more <= lost) return more < 0 ? [["not_billed", surplus]] : [];
  const own = noUsage + lost * logged / Math.max(1, requests);
  return [["no_usage", own], ["other_use", surplus - own]];
}
