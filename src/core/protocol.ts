import * as tables from "./protocol_tables.ts";
import type {
  Endpoint,
  Family,
  Operation,
  Protocol,
} from "./protocol_tables.ts";
import type { FamilyRow, OperationRow, Serving } from "./protocol_tables.ts";

export type { Endpoint, Family, Operation, Protocol, Serving };

/** One operation, as {@linkcode OPERATIONS} has it. */
export type OperationShape = OperationRow<Protocol, Endpoint>;

/** What people call what is spoken at each base URL that a connection may have. */
export const ENDPOINT_NAMES: Readonly<Record<Endpoint, string>> =
  tables.ENDPOINT_NAMES;

/** Every base URL that a connection may have. */
export const ENDPOINTS: readonly Endpoint[] = Object.keys(ENDPOINT_NAMES)
  .filter((name) => isIn(ENDPOINT_NAMES, name));

/** Every operation with its endpoint, path and protocol. */
export const OPERATIONS: Readonly<Record<Operation, OperationShape>> =
  tables.OPERATIONS;

/** Every operation. */
export const OPERATION_NAMES: readonly Operation[] = Object.keys(OPERATIONS)
  .filter((name) => isIn(OPERATIONS, name));

/** Every model family with what it is native to. */
export const FAMILIES: Readonly<
  Record<Family, FamilyRow<Protocol, Operation>>
> = tables.FAMILIES;

/** Every model family. */
export const FAMILY_NAMES: readonly Family[] = Object.keys(FAMILIES)
  .filter((name) => isIn(FAMILIES, name));

/** The operation of each protocol that asks a model. */
export const MAIN_OPERATIONS: Readonly<Record<Protocol, Operation>> =
  tables.MAIN_OPERATIONS;

/** Every wire protocol. What differs between them stands in tables that are a `Record` over {@linkcode Protocol}. */
export const PROTOCOLS: readonly Protocol[] = Object.keys(MAIN_OPERATIONS)
  .filter(isProtocol);

/** In whose words the gateway answers where nobody has chosen a protocol. */
export const DEFAULT_PROTOCOL: Protocol = "chat";

/** Where an upstream is asked for `model`, behind its base URL. */
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

/** Whether a value from outside names a protocol. */
export function isProtocol(value: unknown): value is Protocol {
  return typeof value === "string" && isIn(MAIN_OPERATIONS, value);
}

function isIn<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  name: string,
): name is Name {
  return Object.hasOwn(table, name);
}
