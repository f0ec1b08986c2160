import { z } from "zod";
import { amounts } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import { TOTAL } from "../period.ts";
import { LIMIT_TYPES, quotaWindow } from "../window.ts";
import { bearerHeaders, currencyOf, hostUrl } from "./address.ts";
import { checkPayload, flag, numeric } from "./payload.ts";
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
export function platformBalance(
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
          type: LIMIT_TYPES.balance,
          unit: currencyOf(urlOf(source), currencies),
          period: TOTAL,
          amounts: amounts({ remaining: checkPayload(remaining, body) }),
          resetsAt: null,
        })];
      },
    },
  };
}
