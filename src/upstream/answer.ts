import { type HeaderFields, readHeaders } from "../core/header_fields.ts";

/** What is looked at of an upstream's answer; a `Response` has all of it. */
export interface UpstreamAnswer
  extends Pick<Response, "status" | "ok" | "body"> {
  readonly headers: HeaderFields;
}

/** An answer with its headers read once for all who look at them. */
export function withReadHeaders(answer: Response): UpstreamAnswer {
  const { status, ok, body } = answer;
  return { status, ok, body, headers: readHeaders(answer.headers) };
}
