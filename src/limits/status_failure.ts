import type { Clock } from "../core/clock.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import { QuotaFailure } from "./failure.ts";
import type { QuotaPoll } from "./readers/reader.ts";

/** What a status that is no success means for the quota of a connection. */
export function statusFailure(
  answer: Response,
  { poll, clock }: { readonly poll: QuotaPoll; readonly clock: Clock },
): QuotaFailure {
  const { status } = answer;
  const waitMs = retryAfterMs(answer.headers, clock.now());
  if (status === poll.noPlanStatus || status === 402) {
    return new QuotaFailure(
      "no_plan",
      "The connection's key has no active plan or no credit",
    );
  }
  if (status === 401 || (status === 403 && !isHtml(answer))) {
    return new QuotaFailure(
      "unauthorized",
      "The provider refuses the connection's key: check it, its rights and its expiry",
    );
  }
  if (status === 429) {
    return new QuotaFailure(
      "rate_limited",
      "The provider asks for fewer quota reads",
      { retryAfterMs: waitMs },
    );
  }
  if (status < 400) {
    return new QuotaFailure(
      "invalid_response",
      "The provider redirects the quota read, which is not followed: check the address",
    );
  }
  return new QuotaFailure(
    "unavailable",
    `The provider answers the quota read with HTTP ${status}`,
    { retryAfterMs: waitMs },
  );
}

/** A page instead of JSON is a gate in front of the provider, not the provider's word on the key. */
function isHtml(answer: Response): boolean {
  return answer.headers.get("content-type")?.includes("text/html") ?? false;
}
