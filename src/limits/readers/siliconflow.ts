import { z } from "zod";
import { quantity } from "./payload.ts";
import { platformBalance } from "./platform_balance.ts";

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
