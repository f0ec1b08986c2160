import { z } from "zod";
import { amounts } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import { TOTAL } from "../period.ts";
import { LIMIT_TYPES, quotaWindow } from "../window.ts";
import { bearerHeaders, currencyOf, hostUrl } from "./address.ts";
import { checkPayload, flag, numeric, quantity } from "./payload.ts";
import type { QuotaReader, QuotaSource } from "./reader.ts";

/** SiliconFlow's balance, gifts included. The mainland host answers 410 since August 2026. */
export const siliconflow: QuotaReader = {
  poll: {
    requests: (
      source,
    ) => [{ url: urlOf(source), headers: bearerHeaders(source) }],
    parse([body], { source }) {
      const { code, status } = checkPayload(envelope, body);
      if ((code ?? SUCCESS) !== SUCCESS || status === false) {
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
        amounts: amounts({ remaining: data.totalBalance }),
        resetsAt: null,
      })];
    },
  },
};

const SUCCESS = 20000;

/** The region decides the currency; the body does not say it. */
const CURRENCIES = new Map([
  ["api.siliconflow.com", "USD"],
  ["api.siliconflow.cn", "CNY"],
]);

const envelope = z.object({ code: numeric, status: flag });

const payload = z.object({ data: z.object({ totalBalance: quantity }) });

function urlOf(source: QuotaSource): string {
  return hostUrl(source, "/v1/user/info");
}
