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
 * Request fields without a canonical equivalent, by their protocol and name. Only that protocol's codec reads them;
 * the others report them by weight (see `reportRest`). Fields that the decoder does not know are kept here
 * with the weight `report`.
 */
export type Extras = Readonly<
  Partial<Record<Protocol, Readonly<Record<string, Extra>>>>
>;

/**
 * Details of a turn, block, tool, usage or answer that only their own protocol reads again. Examples are item ids and
 * the `phase` of a Responses message. Dropping them is no loss: data that another protocol can use has a canonical
 * field.
 */
export type ProviderMetadata = Readonly<Partial<Record<Protocol, JsonObject>>>;

/** A value in its protocol's own spelling, beside its canonical meaning. */
export interface Raw<Value = string> {
  readonly protocol: Protocol;
  readonly value: Value;
}

/**
 * Settings inside a tool or a block that only one protocol has. Without them the answer may be worse. The protocol's
 * codec keeps their values in `providerMetadata`.
 */
export interface InnerSettings {
  readonly protocol: Protocol;
  /** For reports, in the caller's spelling, such as `tools.input_examples`. */
  readonly names: readonly string[];
}

/** Returns the names that are true in `isSet` as settings; `undefined` when there are none. */
export function innerSettings(
  protocol: Protocol,
  isSet: Readonly<Record<string, boolean>>,
): InnerSettings | undefined {
  const names = Object.keys(isSet).filter((name) => isSet[name]);
  return names.length === 0 ? undefined : { protocol, names };
}
