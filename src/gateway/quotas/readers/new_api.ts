import { z } from "zod";
import { tidy } from "../amounts.ts";
import { TOTAL } from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  bearerHeaders,
  checkPayload,
  errorBody,
  flag,
  numeric,
  quantity,
  rootUrl,
  text,
} from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/**
 * A New-API gateway. It counts in units of its own. The administrator of that gateway chooses how many units make a US
 * dollar. A second, public endpoint reports that number.
 */
export const newApi: QuotaReader = {
  poll: {
    requests,
    parse([token, status]) {
      if (checkPayload(envelope, token).success === false) {
        throw errorBody();
      }
      return [
        tokenWindow(checkPayload(payload, token).data, unitsPerDollar(status)),
      ];
    },
  },
};

const envelope = z.object({ success: flag });

const payload = z.object({
  data: z.object({
    total_granted: numeric,
    total_used: quantity,
    total_available: numeric,
    unlimited_quota: flag,
  }),
});

const statusPayload = z.object({
  data: z.object({ quota_per_unit: quantity, quota_display_type: text }),
});

function requests(source: QuotaSource): QuotaRequest[] {
  const url = rootUrl(source, "/api/usage/token");
  return [
    { url, headers: bearerHeaders(source) },
    {
      url: new URL("../status", url).href,
      headers: { accept: "application/json" },
      optional: true,
    },
  ];
}

/** Returns the units in a US dollar; undefined when the gateway does not report this number, or counts in tokens. */
function unitsPerDollar(body: unknown): number | undefined {
  const { success, data } = statusPayload.safeParse(body);
  if (!success || data.data.quota_display_type === "TOKENS") return undefined;
  return data.data.quota_per_unit > 0 ? data.data.quota_per_unit : undefined;
}

function tokenWindow(
  token: z.output<typeof payload>["data"],
  perDollar: number | undefined,
): QuotaWindow {
  const isCapped = !token.unlimited_quota;
  const inDollars = (units: number | null | undefined) =>
    typeof units === "number" ? tidy(units / (perDollar ?? 1)) : null;
  return quotaWindow({
    type: QUOTA_TYPES.spend,
    unit: perDollar === undefined ? "quota" : "USD",
    period: TOTAL,
    limit: isCapped ? inDollars(token.total_granted) : null,
    used: inDollars(token.total_used),
    remaining: isCapped ? inDollars(token.total_available) : null,
  });
}
