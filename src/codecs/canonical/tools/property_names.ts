import {
  isHeavyJson,
  isJsonObject,
  type JsonObject,
  parseJson,
} from "@gateway/base/json";
import { rootObject } from "../schema/root_object.ts";
import { fitId } from "./tool_call_id.ts";

/** The new names of a call's arguments by their old names. */
export type PropertyNames = ReadonlyMap<string, string>;

/** A schema of arguments. Some of the arguments are renamed. */
export interface RenamedArguments {
  readonly parameters: JsonObject;
  /** For each name of the caller, the name that is sent. */
  readonly names: PropertyNames;
  /** The caller's names by the sent names. */
  readonly originals: PropertyNames;
}

const MAX_NAME_LENGTH = 64;

/**
 * The names of arguments that Claude accepts: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'". Claude
 * checks only the root of the schema (https://github.com/beautyfree/appstore-connect-mcp/issues/2).
 */
const LEGAL_REGEXP = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Renames arguments such as `$top`, with the caller's names as titles; returns `undefined` if all names are legal. */
export function renameArguments(
  schema: JsonObject | undefined,
): RenamedArguments | undefined {
  const root = rootObject(schema);
  const properties = Object.entries(
    isJsonObject(root.properties) ? root.properties : {},
  );
  const names = new Map(
    properties.map(([name]) => name)
      .filter((name) => !LEGAL_REGEXP.test(name))
      .map((name) => [name, fitId(name, { maxLength: MAX_NAME_LENGTH })]),
  );
  if (names.size === 0) return undefined;
  const renamed = properties.map(([name, property]) => {
    const sent = names.get(name);
    return sent === undefined ? [name, property] : [
      sent,
      isJsonObject(property) ? { title: name, ...property } : property,
    ];
  });
  const { required } = root;
  return {
    names,
    originals: new Map([...names].map(([name, sent]) => [sent, name])),
    parameters: {
      ...root,
      properties: Object.fromEntries(renamed),
      ...(Array.isArray(required)
        ? { required: required.map((name) => names.get(String(name)) ?? name) }
        : {}),
    },
  };
}

/** Returns the arguments of a call with other names; text that is not a JSON object stays as it is. */
export function withNames(text: string, names: PropertyNames): string {
  const value = isHeavyJson(text) ? undefined : parseJson(text);
  if (!isJsonObject(value)) return text;
  if (!Object.keys(value).some((name) => names.has(name))) return text;
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(value).map((
        [name, one],
      ) => [names.get(name) ?? name, one]),
    ),
  );
}
