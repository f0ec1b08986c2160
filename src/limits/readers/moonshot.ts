import { z } from "zod";
import { amounts } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import { TOTAL } from "../period.ts";
import { LIMIT_TYPES, quotaWindow } from "../window.ts";
import { bearerHeaders, currencyOf, hostUrl } from "./address.ts";
import { checkPayload, flag, numeric, quantity } from "./payload.ts";
import type { QuotaReader, QuotaSource } from "./reader.ts";

/** The prepaid balance of the Moonshot platform; cash may be negative, what is available counts. */
export const moonshot: QuotaReader = {
  poll: {
    requests: (
      source,
    ) => [{ url: urlOf(source), headers: bearerHeaders(source) }],
    parse([body], { source }) {
      const { code, status } = checkPayload(envelope, body);
      if ((code ?? 0) !== 0 || status === false) {
        throw new QuotaFailure(
          "unavailable",
          "The provider answers with an error instead of the balance",
        );
      }
      const { data } = checkPayload(payload, body);
      return [quotaWindow({
        type: LIMIT_TYPES.balance,
        unit: currencyOf(urlOf(source), CURRENCIES),
        period: TOTAL,
        amounts: amounts({ remaining: data.available_balance }),
        resetsAt: null,
      })];
    },
  },
};

/** The region decides the currency; the body does not say it. */
const CURRENCIES = new Map([
  ["api.moonshot.ai", "USD"],
  ["api.moonshot.cn", "CNY"],
]);

const envelope = z.object({ code: numeric, status: flag });

const payload = z.object({ data: z.object({ available_balance: quantity }) });

function urlOf(source: QuotaSource): string {
  return hostUrl(source, "/v1/users/me/balance");
}
