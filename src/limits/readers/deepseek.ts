import { z } from "zod";
import { amounts } from "../amounts.ts";
import { TOTAL } from "../period.ts";
import { LIMIT_TYPES, quotaWindow } from "../window.ts";
import { bearerHeaders, hostUrl } from "./address.ts";
import { checkPayload, quantity, requireWindows } from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** DeepSeek's prepaid balance, one for each currency of the account. */
export const deepseek: QuotaReader = {
  poll: {
    requests: (source) => [{
      url: hostUrl(source, "/user/balance"),
      headers: bearerHeaders(source),
    }],
    parse([body]) {
      const { balance_infos } = checkPayload(payload, body);
      return requireWindows(balance_infos.map((one) =>
        quotaWindow({
          type: LIMIT_TYPES.balance,
          unit: one.currency,
          period: TOTAL,
          amounts: amounts({ remaining: one.total_balance }),
          resetsAt: null,
        })
      ));
    },
  },
};

const payload = z.object({
  balance_infos: z.array(z.object({
    currency: z.string().regex(/^[A-Z]{3}$/),
    total_balance: quantity,
  })),
});
