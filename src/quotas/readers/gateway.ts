import { z } from "zod";
import { QuotaFailure } from "../failure.ts";
import { instantOfText } from "../period.ts";
import { type QuotaWindow, scopedType } from "../window.ts";
import {
  baseUrl,
  bearerHeaders,
  checkPayload,
  numeric,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/**
 * Another Model Gateway. Its list covers all connections of the key. Their windows become those of this one connection,
 * with the connection's name in the type when there are several.
 */
export const gateway: QuotaReader = {
  poll: {
    requests: (source) => [{
      url: source.quota.url ?? `${baseUrl(source)}/limits`,
      headers: bearerHeaders(source),
    }],
    parse: ([body]) => windowsOf(checkPayload(payload, body).data),
  },
};

const word = z.string().regex(/^[\w.:-]{1,200}$/);

const window = z.object({
  type: word,
  window: word,
  unit: word,
  period_unit: numeric,
  period_count: numeric,
  limit: numeric,
  used: numeric,
  remaining: numeric,
  used_percent: numeric,
  resets_at: text,
});

const entry = z.object({
  name: z.string(),
  status: z.string(),
  limits: z.array(window),
});

type Entry = z.output<typeof entry>;

const payload = z.object({ object: z.literal("list"), data: z.array(entry) });

function windowsOf(entries: readonly Entry[]): QuotaWindow[] {
  const good = entries.filter(({ status }) => status === "ok");
  if (good.length === 0) {
    throw new QuotaFailure(
      "server",
      "Cannot read the quota: the gateway of this connection reports none.",
    );
  }
  return good.flatMap(({ name, limits }) =>
    limits.map((one) => toWindow(one, entries.length > 1 ? name : ""))
  );
}

/** Returns the window as the other gateway reports it: what it has not computed, this one does not compute. */
function toWindow(one: z.output<typeof window>, scope: string): QuotaWindow {
  return {
    type: scopedType(one.type, scope),
    window: one.window,
    unit: one.unit,
    period_unit: one.period_unit ?? null,
    period_count: one.period_count ?? null,
    limit: one.limit ?? null,
    used: one.used ?? null,
    remaining: one.remaining ?? null,
    used_percent: one.used_percent ?? null,
    resets_at: instantOfText(one.resets_at),
  };
}
