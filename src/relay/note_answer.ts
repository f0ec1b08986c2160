import type { RequestRecord } from "../observe/record.ts";

/** Notes in the record that an upstream's response headers have come. */
export function noteAnswer(
  { headers, status }: Response,
  record: RequestRecord,
): void {
  const { facts } = record;
  facts.firstByteMs = record.elapsedMs();
  facts.upstreamStatus = status;
  const id = headers.get("x-request-id") ?? headers.get("request-id");
  if (id !== null) facts.upstreamRequestId = id;
}
