import { type JsonObject, present } from "../../../core/json.ts";
import type {
  RequestField,
  Sampling,
} from "../../canonical/request/request.ts";
import type { Scope } from "../dialect.ts";

/** What sampling depends on beside the caller's settings. */
export interface SamplingOptions {
  readonly scope: Scope;
  /** Whether the model thinks in this request, which fixes most of it. */
  readonly isThinking: boolean;
}

const MAX_TEMPERATURE = 1;
/** The only temperature, and the least `top_p`, that models take which do not let themselves be drawn otherwise. */
const NEUTRAL_TEMPERATURE = 1;
const NEUTRAL_TOP_P = 0.99;
/** The least `top_p` beside thinking. */
const THINKING_TOP_P = 0.95;

/** Writes `temperature`, `top_p` and `top_k` as far as the model takes them; the rest is reported. */
export function encodeSampling(
  { temperature, topP, topK }: Sampling,
  options: SamplingOptions,
): JsonObject {
  const { scope, isThinking } = options;
  const { sampling, thinking } = scope.dialect;
  const isFixed = sampling === "none" || isThinking && thinking !== "as_given";
  const leastTopP = sampling === "none" ? NEUTRAL_TOP_P : THINKING_TOP_P;
  const keep = (
    value: number | undefined,
    isTaken: boolean,
    field: RequestField,
  ) => {
    if (value === undefined || isTaken) return value;
    lose(field, scope);
    return undefined;
  };
  const warmth = keep(
    limitTemperature(temperature, scope),
    !isFixed || temperature === NEUTRAL_TEMPERATURE,
    "temperature",
  );
  const share = keep(
    topP,
    isFixed ? (topP ?? 0) >= leastTopP : true,
    "topP",
  );
  const isDouble = sampling === "one" && warmth !== undefined;
  return present({
    temperature: warmth,
    top_p: keep(share, !isDouble, "topP"),
    top_k: keep(topK, !isFixed, "topK"),
  });
}

/** Other protocols go up to 2. */
function limitTemperature(
  temperature: number | undefined,
  scope: Scope,
): number | undefined {
  if (temperature === undefined || temperature <= MAX_TEMPERATURE) {
    return temperature;
  }
  lose("temperature", scope);
  return MAX_TEMPERATURE;
}

function lose(field: RequestField, { context }: Scope): void {
  context.lose({
    field,
    weight: "hint",
    reason: "this model takes no such value there",
  });
}
