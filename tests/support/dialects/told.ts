import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { CODECS } from "../../../src/protocols/mod.ts";
import { translateRequest } from "../../../src/protocols/translate_request.ts";

/** Who asks whom. */
export interface ToldOptions {
  readonly from: Protocol;
  readonly to: Protocol;
  readonly service: string;
  readonly model: string;
  readonly strict?: boolean;
}

/** What an upstream is told, and what `x-gateway-dropped` names. */
export interface Told {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
}

/** What the upstream is told of a caller's request. */
export function told(body: JsonObject, options: ToldOptions): Told {
  const { from, to, service, model, strict = false } = options;
  const translated = translateRequest({ model: "asked", ...body }, {
    from: CODECS[from],
    to: CODECS[to],
    target: {
      service,
      model,
      connectionId: "connection-1",
      maxOutputTokens: undefined,
    },
    strict,
    streamOnly: false,
    force: {},
    omit: [],
  });
  return { body: translated.body, dropped: [...translated.dropped] };
}

/** One message of the user in the words of `protocol`, with further fields. */
export function asking(
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
