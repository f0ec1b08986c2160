import { z } from "zod";
import { quantity } from "./payload.ts";
import { platformBalance } from "./platform_balance.ts";

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
