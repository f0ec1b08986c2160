import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";

/**
 * What it means to leave a field out:
 * - `answer`: the caller would get something else than was asked for; the request is refused with 400.
 * - `hint`: the answer may be a little worse; dropped and named in `x-gateway-dropped`.
 * - `silent`: nobody notices, because the field only repeats a default or steers what the gateway does itself.
 */
export type Weight = "reject" | "report" | "ignore";

/** A request field that only one protocol has, as it stood there. */
export interface Extra {
  readonly value: JsonValue;
  /** What another protocol loses by leaving it out; the decoder knows, an encoder of another protocol cannot. */
  readonly weight: Weight;
}

/**
 * Request fields without a canonical place, by the protocol that understands them and their name there.
 * Only that protocol's codec looks inside; the others report them by weight (see `loseForeignExtras`).
 * Fields that the decoder does not know are kept here as hints.
 */
export type Extras = Readonly<
  Partial<Record<Protocol, Readonly<Record<string, Extra>>>>
>;

/**
 * Small facts on a turn, block, tool, usage or answer that only the protocol they came from reads back,
 * such as item ids or the `phase` of a Responses message. Leaving them out is no loss: whatever another
 * protocol could be asked to carry has a canonical field instead.
 */
export type ProviderMetadata = Readonly<Partial<Record<Protocol, JsonObject>>>;

/** A value in the spelling of the protocol it came from, kept beside its neutral meaning. */
export interface Raw<Value = string> {
  readonly protocol: Protocol;
  readonly value: Value;
}

/**
 * Settings inside a tool or a block that only one protocol has, and without which the answer may be worse. Its own
 * codec carries them in marks.
 */
export interface InnerSettings {
  readonly protocol: Protocol;
  /** For reports, in the caller's spelling, such as `tools.input_examples`. */
  readonly names: readonly string[];
}

/** The settings of those names that are set; `undefined` when none is. */
export function innerSettings(
  protocol: Protocol,
  isSet: Readonly<Record<string, boolean>>,
): InnerSettings | undefined {
  const names = Object.keys(isSet).filter((name) => isSet[name]);
  return names.length === 0 ? undefined : { protocol, names };
}
