import { z } from "zod";
import { unreadable } from "../failure.ts";
import { instantOfText } from "../period.ts";
import { scopedType } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  baseUrl,
  bearerHeaders,
  checkPayload,
  numeric,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/**
 * Another Model Gateway. Its list covers all connections that the key may use. The windows of all these connections
 * become windows of this one connection. If the list has several connections, the type of a window includes its
 * connection's name.
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

const count = numeric.default(null);

/** A window as the other gateway reports it. Numbers that the other gateway leaves out stay unknown. */
const window = z.object({
  type: word,
  window: word,
  unit: word,
  period_unit: count,
  period_count: count,
  limit: count,
  used: count,
  remaining: count,
  used_percent: count,
  resets_at: text.transform(instantOfText),
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
    throw unreadable(
      "server",
      "the gateway of this connection reports no quota.",
    );
  }
  return good.flatMap(({ name, limits }) =>
    limits.map((one) => ({
      ...one,
      type: scopedType(one.type, entries.length > 1 ? name : ""),
    }))
  );
}
