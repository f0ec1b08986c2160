import { CALENDAR_WINDOWS } from "@gateway/base/time/calendar";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { Connection } from "../config.ts";
import {
  createClaims,
  type Located,
  type Path,
  quote,
  suggestion,
} from "@gateway/base/problems";
import { entriesOf, type SelectionIndex } from "../selection.ts";
import type { UsageLimitFields } from "../schema/token.ts";
import {
  LIMIT_UNITS,
  type LimitUnit,
  type UsageLimit,
} from "../usage_limits.ts";

interface UsageLimitsOptions extends Located {
  readonly index: SelectionIndex;
  /** The connections that could be resolved. */
  readonly connections: readonly Connection[];
}

/** Resolves limits with the models and connections that they name. Reports and leaves out invalid limits. */
export function resolveUsageLimits(
  all: readonly UsageLimitFields[],
  options: UsageLimitsOptions,
): readonly UsageLimit[] {
  const claimTarget = createClaims(
    options.findings,
    (other) => `limits the same as ${other}. Keep the lower of the two.`,
  );
  return all.flatMap((fields, index) => {
    const path = [...options.path, index];
    const limit = resolveOne(fields, { ...options, path });
    return limit && claimTarget(targetOf(limit), path) ? [limit] : [];
  });
}

/** Returns a text for what a limit counts. Limits that differ only in their amount have equal texts. */
function targetOf(limit: UsageLimit): string {
  return limit.kind === "share"
    ? JSON.stringify([limit.connection, limit.window])
    : JSON.stringify([
      limit.unit,
      limit.window,
      limit.per,
      limit.models,
      limit.connections,
    ]);
}

function resolveOne(
  fields: UsageLimitFields,
  options: UsageLimitsOptions,
): UsageLimit | undefined {
  const measures = [...LIMIT_UNITS, "share" as const]
    .filter((one) => fields[one] !== undefined);
  const [measure] = measures;
  if (measure === undefined || measures.length > 1) {
    options.findings.problem(
      options.path,
      "must have exactly one of requests, tokens, cost and share. Write a limit for each.",
    );
    return undefined;
  }
  if (fields.window === undefined && fields.per === undefined) {
    options.findings.problem([...options.path, "window"], "is missing.");
    return undefined;
  }
  return measure === "share"
    ? resolveShare(fields, options)
    : resolveAmount(fields, measure, options);
}

function resolveAmount(
  fields: UsageLimitFields,
  unit: LimitUnit,
  { path, index, findings }: UsageLimitsOptions,
): UsageLimit | undefined {
  const { per, models, window = "" } = fields;
  const windows = per === undefined ? CALENDAR_WINDOWS : SESSION_WINDOWS;
  if (fields.connection !== undefined) {
    findings.problem(
      [...path, "connection"],
      "is only for share. Name connections in the list `connections`.",
    );
  }
  models?.forEach((name, position) => {
    const model = index.idByAlias.get(name) ?? name;
    if (index.allModels.has(model)) return;
    findings.problem(
      [...path, "models", position],
      `is served by no connection${suggestion(model, index.allModels) || "."}`,
    );
  });
  const connections = fields.connections?.flatMap((reference, position) =>
    namesOf(reference, {
      index,
      path: [...path, "connections", position],
      findings,
    })
  );
  const found = fields.window === undefined
    ? per
    : windows.find((one) => one === window);
  if (found === undefined) {
    findings.problem(
      [...path, "window"],
      `must be one of ${windows.join(", ")}${
        suggestion(window, windows) || "."
      }`,
    );
    return undefined;
  }
  const amount = fields[unit] ?? 0;
  return {
    kind: "amount",
    ...per === undefined ? {} : { per },
    window: found,
    unit,
    most: unit === "cost" ? Math.round(amount * NANOS_PER_DOLLAR) : amount,
    models: models &&
      sorted(models.map((name) => index.idByAlias.get(name) ?? name)),
    connections: connections && sorted(connections),
  };
}

/** The windows that a limit per session may have. The usage of a session is forgotten after a day at most. */
const SESSION_WINDOWS = ["minute", "hour", "day"] as const;

/** Sorts the names, so that their order in the file does not matter. */
function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

function resolveShare(
  { connection: reference, window = "", share = 0, ...fields }:
    UsageLimitFields,
  { path, index, connections, findings }: UsageLimitsOptions,
): UsageLimit | undefined {
  for (const key of ["models", "connections"] as const) {
    if (fields[key] === undefined) continue;
    findings.problem(
      [...path, key],
      "cannot be set with share, which counts all requests of one connection.",
    );
  }
  if (fields.per !== undefined) {
    findings.problem(
      [...path, "per"],
      "cannot be set with share, which is estimated for a token or a group.",
    );
    return undefined;
  }
  if (reference === undefined) {
    findings.problem(
      [...path, "connection"],
      "is missing. A share is part of a connection's quota.",
    );
    return undefined;
  }
  const place = [...path, "connection"];
  const [name, ...others] = namesOf(reference, {
    index,
    path: place,
    findings,
  });
  if (name === undefined) return undefined;
  if (others.length > 0) {
    findings.problem(place, `has several keys. Name one of them: ${name}.`);
  }
  const connection = connections.find((one) => one.name === name);
  const fault = connection && shareProblem(connection, window);
  if (fault !== undefined) findings.problem([...path, ...fault[0]], fault[1]);
  return { kind: "share", connection: name, window, share };
}

/** The kinds of quota that report a balance without a window. */
const BALANCE_KINDS: ReadonlySet<string> = new Set([
  "deepseek",
  "moonshot",
  "siliconflow",
]);

/** The forms of `window`. The names of the lengths come from `quotas/period.ts`. */
const WINDOW_REGEXP =
  /^(\S+ )?(minute|hourly|daily|weekly|monthly|yearly|[a-z0-9]+_(minute|hour|day|week|month|year))$/;

const USUAL_WINDOWS = ["five_hour", "hourly", "daily", "weekly", "monthly"];

/** Returns the path and the message of a problem with a share limit, or `undefined`. */
function shareProblem(
  { name, quota }: Connection,
  window: string,
): readonly [path: Path, message: string] | undefined {
  if (quota === undefined) {
    return [
      ["connection"],
      `is ${
        quote(name)
      }, whose quota is not read. Configure its quota, or limit tokens.`,
    ];
  }
  if (BALANCE_KINDS.has(quota.kind)) {
    return [
      ["window"],
      `does not exist for the quota kind ${quota.kind}, which reports only a balance. Limit tokens or cost.`,
    ];
  }
  if (WINDOW_REGEXP.test(window)) return undefined;
  return [
    ["window"],
    `is no window of a quota, such as ${USUAL_WINDOWS.join(", ")}${
      suggestion(window, USUAL_WINDOWS) || "."
    }`,
  ];
}

/** Resolves a reference to a connection. Returns one name for each key of the connection. */
function namesOf(
  ...reference: Parameters<typeof entriesOf>
): readonly string[] {
  return entriesOf(...reference).flatMap(({ name }) => name ?? []);
}
