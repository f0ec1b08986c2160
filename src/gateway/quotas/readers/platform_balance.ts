import { z } from "zod";
import { TOTAL } from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import {
  checkPayload,
  currencyOf,
  errorBody,
  flag,
  hostRequest,
  hostUrl,
  numeric,
  quantity,
  requireWindows,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** A platform whose response wraps the balance in an envelope with a code. Each region has its own currency. */
interface PlatformBalance {
  readonly path: string;
  /** The `code` of a successful response. A successful response may also have no code. */
  readonly successCode: number;
  /** The currency by host name. The body does not report the currency. */
  readonly currencies: ReadonlyMap<string, string>;
  /** The amount left, parsed from the whole body. */
  readonly remaining: z.ZodType<number>;
}

const envelope = z.object({ code: numeric, status: flag });

/** Creates a reader of a platform's prepaid balance: one window without a reset. */
function platformBalance(
  { path, successCode, currencies, remaining }: PlatformBalance,
): QuotaReader {
  return {
    poll: {
      requests: hostRequest(path),
      parse([body], { source }) {
        const { code, status } = checkPayload(envelope, body);
        if ((code ?? successCode) !== successCode || status === false) {
          throw errorBody();
        }
        return [quotaWindow({
          type: QUOTA_TYPES.balance,
          unit: currencyOf(hostUrl(source, path), currencies),
          period: TOTAL,
          remaining: checkPayload(remaining, body),
        })];
      },
    },
  };
}

/**
 * The prepaid balance of the Moonshot platform. The available amount counts, because the cash amount may be negative.
 */
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

/** SiliconFlow's balance, including gifts. The mainland host responds with 410 since August 2026. */
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

/** DeepSeek's prepaid balances, one for each currency of the account. */
export const deepseek: QuotaReader = {
  poll: {
    requests: hostRequest("/user/balance"),
    parse([body]) {
      const { balance_infos, is_available } = checkPayload(payload, body);
      return requireWindows(balance_infos.map((one) =>
        quotaWindow({
          type: QUOTA_TYPES.balance,
          unit: one.currency,
          period: TOTAL,
          remaining: one.total_balance,
          isStopped: is_available === false,
        })
      ));
    },
  },
};

const payload = z.object({
  /** False when requests are refused, though an amount may be left. */
  is_available: flag,
  balance_infos: z.array(z.object({
    currency: z.string().regex(/^[A-Z]{3}$/),
    total_balance: quantity,
  })),
});
