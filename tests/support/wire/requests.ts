import type { CanonicalRequest } from "../../../src/protocols/canonical/request/request.ts";

/** A canonical request that says nothing but what is given. */
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
