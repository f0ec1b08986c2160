import { z } from "zod";
import type { JsonValue } from "@gateway/base/json";
import type { QuotaList } from "@gateway/page/answers";
import {
  type GatewayAddress,
  readGateway,
  requestGateway,
  type RequestTools,
} from "../gateway_client.ts";

/** The timeout of the list. The gateway's own timeout is shorter, so that its error arrives here. */
const DEADLINE_MS = 30_000;

/**
 * Reads the list of limits from a gateway.
 *
 * @throws {GatewayUnread} When the response is not a list.
 */
export function readLimits(
  { base, token }: GatewayAddress,
  tools: RequestTools,
): Promise<QuotaList> {
  const url = `${base}/v1/limits`;
  const options = { url, token, deadlineMs: DEADLINE_MS };
  return readGateway(options, tools, isQuotaList);
}

/** The timeout of the usage. It is short, because the quotas can be drawn without the usage. */
const USAGE_DEADLINE_MS = 5000;

/**
 * Reads the usage of a token from `GET /usage`.
 *
 * @returns The body of any response; `undefined` without a response or without JSON.
 */
export async function readUsage(
  { base, token }: GatewayAddress,
  tools: RequestTools,
): Promise<JsonValue | undefined> {
  const url = `${base}/v1/usage`;
  const options = { url, token, deadlineMs: USAGE_DEADLINE_MS };
  const answer = await requestGateway(options, tools).catch(() => undefined);
  return answer?.body;
}

const text = z.string();
const amount = z.number().nullable();

const windowSchema = z.object({
  ...{ type: text, window: text, unit: text, resets_at: text.nullable() },
  ...{ limit: amount, used: amount, remaining: amount },
  ...{ used_percent: amount, period_count: amount },
});

/** The shape of a list of limits. Unknown fields are ignored, because the gateway may be newer than this program. */
const listSchema = z.object({
  object: z.literal("list"),
  refresh_after_seconds: z.number(),
  data: z.array(z.object({
    ...{ name: text, service: text, status: text, checked_at: text },
    cached: z.boolean(),
    error: z.object({ type: text, message: text }).optional(),
    waiting: z.object({ requests: z.number(), seconds: z.number() }).optional(),
    failing: z.object({ until: text }).optional(),
    limits: z.array(windowSchema),
  })),
});

/** Returns true when a body is a list of limits (docs/quotas.md#fields-of-a-window). */
function isQuotaList(value: unknown): value is QuotaList {
  return listSchema.safeParse(value).success;
}
