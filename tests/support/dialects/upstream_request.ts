import type { JsonObject } from "../../../src/base/json.ts";
import { isProtocol, type Protocol } from "../../../src/base/protocol.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { translateRequest } from "../translate_request.ts";
import { targetOf } from "./targets.ts";

/** The protocols and the target of a translation. */
export interface UpstreamRequestOptions {
  readonly from: Protocol;
  readonly to: Protocol;
  readonly service: string;
  readonly model: string;
  readonly strict?: boolean;
}

/** The translation, with the field names of `x-gateway-dropped` as a list. */
export type UpstreamRequest =
  & Omit<ReturnType<typeof translateRequest>, "dropped">
  & { readonly dropped: readonly string[] };

/** Returns the request that the upstream receives for a caller's request. */
export function upstreamRequest(
  body: JsonObject,
  options: UpstreamRequestOptions,
): UpstreamRequest {
  const { from, to, service, model, strict = false } = options;
  const translated = translateRequest({ model: "asked", ...body }, {
    from: CODECS[from],
    to: CODECS[to],
    target: targetOf(service, model),
    strict,
  });
  return { ...translated, dropped: [...translated.dropped] };
}

/**
 * Returns the request that the upstream receives for a request with one user message and further fields.
 *
 * @param target The upstream's protocol, its service and the model: `responses openai gpt-5.2`.
 */
export function received(
  from: Protocol,
  target: string,
  fields: JsonObject,
  strict = false,
): UpstreamRequest {
  const [to = "", service = "", model = ""] = target.split(" ");
  if (!isProtocol(to)) throw new TypeError(`no protocol: ${target}`);
  const body = userRequest(from, fields);
  return upstreamRequest(body, { from, to, service, model, strict });
}

/** Returns a request in `protocol` with one user message and further fields. */
export function userRequest(
  protocol: Protocol,
  fields: JsonObject = {},
): JsonObject {
  const message = { role: "user", content: "Hello" };
  switch (protocol) {
    case "chat":
      return { messages: [message], ...fields };
    case "messages":
      return { max_tokens: 1000, messages: [message], ...fields };
    case "responses":
      return { input: [message], ...fields };
  }
}
