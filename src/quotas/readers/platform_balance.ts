import { z } from "zod";
import { amounts } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import { TOTAL } from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import {
  bearerHeaders,
  checkPayload,
  currencyOf,
  flag,
  hostUrl,
  numeric,
  quantity,
  requireWindows,
} from "./payload.ts";
import type { QuotaReader, QuotaSource } from "./reader.ts";

/** What distinguishes the platforms whose balance has a code around it and a currency by region. */
export interface PlatformBalance {
  readonly path: string;
  /** The `code` of a good answer, which may leave it out. */
  readonly successCode: number;
  /** The region decides the currency; the body does not say it. By host. */
  readonly currencies: ReadonlyMap<string, string>;
  /** What is left, read from the whole body. */
  readonly remaining: z.ZodType<number>;
}

const envelope = z.object({ code: numeric, status: flag });

/** Reads the prepaid balance of a platform: one window, without a reset. */
function platformBalance(
  { path, successCode, currencies, remaining }: PlatformBalance,
): QuotaReader {
  const urlOf = (source: QuotaSource) => hostUrl(source, path);
  return {
    poll: {
      requests: (source) => [
        { url: urlOf(source), headers: bearerHeaders(source) },
      ],
      parse([body], { source }) {
        const { code, status } = checkPayload(envelope, body);
        if ((code ?? successCode) !== successCode || status === false) {
          throw new QuotaFailure(
            "server",
            "The provider answers with an error instead of the balance",
          );
        }
        return [quotaWindow({
          type: QUOTA_TYPES.balance,
          unit: currencyOf(urlOf(source), currencies),
          period: TOTAL,
          amounts: amounts({ remaining: checkPayload(remaining, body) }),
          resetsAt: null,
        })];
      },
    },
  };
}

/** The prepaid balance of the Moonshot platform; cash may be negative, what is available counts. */
export const moonshot = platformBalance({
  path: "/v1/users/me/balance",
  successCode: 0,
  currencies: new Map([
    ["api.moonshot.ai", "USD"],
    ["api.moonshot.cn", "CNY"],
  ]),
  remaining: z.object({ data: z.object({ available_balance: quantity }) })
    .transform(({ data }) => data.available_balance),
});

/** SiliconFlow's balance, gifts included. The mainland host answers 410 since August 2026. */
export const siliconflow = platformBalance({
  path: "/v1/user/info",
  successCode: 20000,
  currencies: new Map([
    ["api.siliconflow.com", "USD"],
    ["api.siliconflow.cn", "CNY"],
  ]),
  remaining: z.object({ data: z.object({ totalBalance: quantity }) })
    .transform(({ data }) => data.totalBalance),
});

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
          type: QUOTA_TYPES.balance,
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
