import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";

/**
 * The consequence of a field that the target cannot take:
 * - `reject`: the answer would not be the requested one, so the request is rejected with 400.
 * - `report`: the answer may be slightly worse, so the field is dropped and named in `x-gateway-dropped`.
 * - `ignore`: there is no difference, because the field repeats a default or controls the gateway itself.
 */
export type Weight = "reject" | "report" | "ignore";

/** A request field that only one protocol has, with its original value. */
export interface Extra {
  readonly value: JsonValue;
  /**
   * The weight of dropping the field. The decoder sets the weight, because encoders of other protocols do not know the
   * field.
   */
  readonly weight: Weight;
}

/**
 * Request fields without a canonical equivalent, by their protocol and name. Only the codec of their protocol reads the
 * fields. For a target of another protocol, each field is reported by its weight (see `reportRest`). Fields that the
 * decoder does not know are kept here with the weight `report`.
 */
export type Extras = Readonly<
  Partial<Record<Protocol, Readonly<Record<string, Extra>>>>
>;

/**
 * Details of a turn, block, tool, usage or answer, by protocol. Only the codec of that protocol reads the details
 * again. Examples are item ids and the `phase` of a Responses message. Dropping such details is no loss: data that
 * another protocol can use has a canonical field.
 */
export type ProviderMetadata = Readonly<Partial<Record<Protocol, JsonObject>>>;

/** A value in the spelling of the protocol that it came from. */
export interface Raw<Value = string> {
  readonly protocol: Protocol;
  readonly value: Value;
}

/**
 * Settings that only one protocol has, and that are inside a tool or a block. Without these settings, the answer may be
 * worse. The codec of that protocol keeps their values in `providerMetadata`.
 */
export interface InnerSettings {
  readonly protocol: Protocol;
  /** The names of the settings for reports, in the caller's spelling, such as `tools.input_examples`. */
  readonly names: readonly string[];
}

/** Returns settings with the names that are true in `isSet`; `undefined` when no name is true. */
export function innerSettings(
  protocol: Protocol,
  isSet: Readonly<Record<string, boolean>>,
): InnerSettings | undefined {
  const names = Object.keys(isSet).filter((name) => isSet[name]);
  return names.length === 0 ? undefined : { protocol, names };
}
