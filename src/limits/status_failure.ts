import type { Clock } from "../core/time/clock.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import {
  type FailureKind,
  kindOfStatus,
} from "../protocols/canonical/failure/failure.ts";
import { QuotaFailure, type QuotaFailureReason, reasonOf } from "./failure.ts";
import type { QuotaPoll } from "./readers/reader.ts";

/** What a status that is no success means for the quota of a connection. */
export function statusFailure(
  answer: Response,
  { poll, clock }: { readonly poll: QuotaPoll; readonly clock: Clock },
): QuotaFailure {
  const kind = kindOf(answer, poll);
  const reason = reasonOf(kind);
  const message = MESSAGE_BY_REASON[reason] ??
    `The provider answers the quota read with HTTP ${answer.status}`;
  const mayWait = reason === "rate_limited" || reason === "unavailable";
  return new QuotaFailure(kind, message, {
    retryAfterMs: mayWait
      ? retryAfterMs(answer.headers, clock.now())
      : undefined,
  });
}

const MESSAGE_BY_REASON: Readonly<Partial<Record<QuotaFailureReason, string>>> =
  {
    no_plan: "The connection's key has no active plan or no credit",
    unauthorized:
      "The provider refuses the connection's key: check it, its rights and its expiry",
    rate_limited: "The provider asks for fewer quota reads",
    invalid_response:
      "The provider redirects the quota read, which is not followed: check the address",
  };

function kindOf(answer: Response, { noPlanStatus }: QuotaPoll): FailureKind {
  const { status } = answer;
  if (status === noPlanStatus) return "quota";
  if (status < 400) return "broken";
  return status === 403 && isHtml(answer) ? "server" : kindOfStatus(status);
}

/** A page instead of JSON is a gate in front of the provider, not the provider's word on the key. */
function isHtml(answer: Response): boolean {
  return answer.headers.get("content-type")?.includes("text/html") ?? false;
}
