import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";

/** How probable a token was, and which others were, as both of OpenAI's protocols spell it. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The token's own UTF-8 bytes, where the upstream says. */
  readonly bytes: JsonValue;
  readonly top_logprobs: readonly JsonObject[];
}

/** Reads a list of log probabilities; `undefined` where there is none. */
export function decodeLogprobs(
  value: JsonValue | undefined,
): readonly TokenLogprob[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const tokens = value.filter(isJsonObject).flatMap(decodeToken);
  return tokens.length === 0 ? undefined : tokens;
}

function decodeToken(one: JsonObject): TokenLogprob[] {
  const { token, logprob, top_logprobs: others } = one;
  if (typeof token !== "string" || typeof logprob !== "number") return [];
  const top = Array.isArray(others) ? others.filter(isJsonObject) : [];
  return [{
    token,
    logprob,
    bytes: one.bytes ?? null,
    top_logprobs: top.map((other) => ({ bytes: null, ...other })),
  }];
}
