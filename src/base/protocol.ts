import {
  ENDPOINT_NAMES,
  FAMILIES,
  MAIN_OPERATIONS,
  OPERATIONS,
} from "./protocol_tables.ts";
import type {
  Endpoint,
  Family,
  Operation,
  OperationRow,
  Protocol,
  ServingForm,
} from "./protocol_tables.ts";

export type { Endpoint, Family, Operation, Protocol, ServingForm };
export { ENDPOINT_NAMES, FAMILIES, MAIN_OPERATIONS, OPERATIONS };

/** One entry of {@linkcode OPERATIONS}. */
export type OperationShape = OperationRow<Protocol, Endpoint>;

/** Every base URL that a connection may have. */
export const ENDPOINTS: readonly Endpoint[] = namesOf(ENDPOINT_NAMES);

/** Every operation. */
export const OPERATION_NAMES: readonly Operation[] = namesOf(OPERATIONS);

/** Every model family. */
export const FAMILY_NAMES: readonly Family[] = namesOf(FAMILIES);

/**
 * Every wire protocol. Tables that are a `Record` over {@linkcode Protocol} hold the differences between the protocols.
 */
export const PROTOCOLS: readonly Protocol[] = namesOf(MAIN_OPERATIONS);

/** The protocols that a connection serves. */
interface ServedPaths {
  readonly family: Family;
  /** Protocols outside the family. The connection serves their main operations by translation. */
  readonly paths: readonly Protocol[];
}

/**
 * Returns how a connection serves an operation. For a protocol in the connection's `paths`, the connection serves the
 * main operation by translation. Other operations of that protocol are never guessed.
 */
export function servingOf(
  operation: Operation,
  { family, paths }: ServedPaths,
): ServingForm {
  const { protocol } = OPERATIONS[operation];
  const isMain = MAIN_OPERATIONS[protocol] === operation;
  return isMain && paths.includes(protocol) && isFurther(protocol, family)
    ? "translated"
    : FAMILIES[family].serves[operation];
}

/** Returns true when a family does not serve the main operation of a protocol. */
export function isFurther(protocol: Protocol, family: Family): boolean {
  return FAMILIES[family].serves[MAIN_OPERATIONS[protocol]] === "none";
}

/** The protocol of the gateway's own responses when the request selects none. */
export const DEFAULT_PROTOCOL: Protocol = "chat";

/** Returns the path of an operation for `model`, to append to a base URL. */
export function operationPath(
  { path, streamPath, modelField }: OperationShape,
  model: string,
  { stream }: { readonly stream: boolean },
): string {
  const pattern = stream ? streamPath ?? path : path;
  return modelField === undefined
    ? pattern.replace(":model", () => encodeURIComponent(model))
    : pattern;
}

/** Returns true when a value from outside is the name of a protocol. */
export function isProtocol(value: unknown): value is Protocol {
  return typeof value === "string" && isIn(MAIN_OPERATIONS, value);
}

function namesOf<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
): readonly Name[] {
  return Object.keys(table).filter((name) => isIn(table, name));
}

function isIn<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  name: string,
): name is Name {
  return Object.hasOwn(table, name);
}
