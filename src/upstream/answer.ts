import { type HeaderFields, readHeaders } from "../core/header_fields.ts";

/** What is looked at of an upstream's answer; a `Response` has all of it. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Whether the status is a good one, from 200 to 299. */
  readonly ok: boolean;
  readonly headers: HeaderFields;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** An answer with its headers read once for all who look at them. */
export function withReadHeaders(answer: Response): UpstreamAnswer {
  const { status, ok, body } = answer;
  return { status, ok, headers: readHeaders(answer.headers), body };
}
