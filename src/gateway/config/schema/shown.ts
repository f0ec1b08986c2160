import { z } from "zod";
import { isMapping } from "@gateway/base/problems";
import { mapValues } from "@gateway/base/std";
import { HIDDEN } from "./fields.ts";
import { layersOf, metaOf, unwrap } from "./layers.ts";
import { codeName } from "./renamed.ts";

/** The most texts that a list shows. Further texts are only counted. */
const SHOWN_TEXTS = 50;

/** The shortest secret that is also hidden in the values of other options. A shorter secret may be a common word. */
const SECRET_LENGTH = 16;

interface ShownValue {
  /** The value in the file; `undefined` when the file does not set the option. */
  readonly written: unknown;
  /** The resolved value; `undefined` when resolving adds no value. */
  readonly resolved: unknown;
  /** The secrets to hide. A call adds the secrets that the option holds. */
  readonly secrets: Set<string>;
}

/** Returns the value of an option for people: the file's value, else the default, else the resolved value. */
export function shown(option: z.core.$ZodType, value: ShownValue): unknown {
  const { resolved, secrets } = value;
  const preset = layersOf(option).find((layer) =>
    layer instanceof z.ZodDefault || layer instanceof z.ZodPrefault
  );
  const written = value.written ?? preset?.def.defaultValue;
  const hide = metaOf(option, "secret");
  if (typeof hide === "function") {
    for (const text of [written, resolved].flat()) {
      if (typeof text === "string") secrets.add(text);
    }
    if (written === undefined) return undefined;
    const texts = [written].flat().map((text) =>
      typeof text === "string" ? hide(text) : HIDDEN
    );
    return Array.isArray(written) ? texts : texts[0];
  }
  const found = written ?? resolved;
  const schema = optionFor(unwrap(option), found);
  if (schema instanceof z.ZodObject && typeof found === "object") {
    const entries = Object.entries(schema.shape).map(([key, inner]) => [
      key,
      shown(inner, {
        written: at(written, key),
        resolved: at(resolved, codeName(key, inner)),
        secrets,
      }),
    ]);
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  }
  if (schema instanceof z.ZodRecord && isMapping(found)) {
    const { valueType } = schema;
    const whole = isMapping(resolved) ? resolved : found;
    return mapValues(
      whole,
      (one) => shown(valueType, { written: one, resolved: undefined, secrets }),
    );
  }
  if (schema instanceof z.ZodArray && Array.isArray(found)) {
    const { element } = schema;
    const isPlain = Array.isArray(resolved) && resolved.length > 0 &&
      resolved.every((one) => typeof one === "string");
    const list = isPlain ? resolved : found;
    const texts = list.map((one, index) =>
      shown(element, { written: one, resolved: at(resolved, index), secrets })
    );
    const more = texts.length - SHOWN_TEXTS;
    return more > 0 && typeof texts[0] === "string"
      ? [...texts.slice(0, SHOWN_TEXTS), `${more} more`]
      : texts;
  }
  if (typeof found === "number" && metaOf(option, "unit") === "Bytes") {
    const mib = found / 1024 ** 2;
    return Number.isInteger(mib) ? `${mib}MiB` : found;
  }
  if (typeof found === "string") return withoutSecrets(found, secrets);
  return typeof found === "object" ? HIDDEN : found;
}

/** Returns the alternative of a union that accepts a value. Returns any other schema as it is. */
function optionFor(
  schema: z.core.$ZodType,
  value: unknown,
): z.core.$ZodType {
  if (!(schema instanceof z.ZodUnion)) return schema;
  const option = schema.options.find((one) => z.safeParse(one, value).success);
  return option === undefined ? schema : unwrap(option);
}

function at(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, key)
    : undefined;
}

/** Takes users, passwords and queries out of URLs, and hides a text that contains a secret. */
function withoutSecrets(text: string, secrets: ReadonlySet<string>): string {
  const plain = text.replaceAll(/:\/\/[^\s/?#]*@/g, "://")
    .replaceAll(/(:\/\/[^\s?#]*)[?#]\S*/g, "$1");
  const holdsSecret = [...secrets].some((secret) =>
    secret.length >= SECRET_LENGTH && plain.includes(secret)
  );
  return holdsSecret ? HIDDEN : plain;
}
