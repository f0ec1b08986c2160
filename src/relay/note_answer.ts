import { FAILURE_WORD_BY_KIND, type RequestFacts } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  type Failure,
  shownFailure,
} from "../protocols/canonical/failure/failure.ts";
import type { UpstreamAnswer } from "../upstream/answer.ts";
import type { Secrets } from "../upstream/secrets.ts";

/** Notes in the record that an upstream's response headers have come. */
export function noteAnswer(
  { headers, status }: UpstreamAnswer,
  record: RequestRecord,
  secrets: Pick<Secrets, "areIn">,
): void {
  const { facts } = record;
  facts.answer.firstByteMs = record.elapsedMs();
  facts.answer.upstreamStatus = status;
  const id = headers.get("x-request-id") ?? headers.get("request-id") ??
    undefined;
  if (id === undefined || secrets.areIn(id)) return;
  facts.answer.upstreamRequestId = id;
}

/** Notes the failure of an upstream that is all that the caller gets. */
export function noteFailure(failure: Failure, facts: RequestFacts): void {
  const { code, kind } = shownFailure(failure);
  facts.error = code ?? kind;
  facts.failure ??= FAILURE_WORD_BY_KIND[failure.kind];
}
