import type { CanonicalRequest } from "../../../src/codecs/canonical/request/request.ts";

/** Returns a canonical request with only these fields. */
export function requestOf(
  fields: Partial<CanonicalRequest> = {},
): CanonicalRequest {
  return {
    model: "public-model",
    stream: false,
    turns: [{ role: "user", blocks: [{ kind: "text", text: "Hi" }] }],
    tools: [],
    sampling: {},
    extras: {},
    ...fields,
  };
}
