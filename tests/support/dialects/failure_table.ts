import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import type { FailureKind } from "../../../src/codecs/canonical/failure/failure.ts";
import { yamlObject } from "../yaml.ts";

/** A documented or reported refusal of a service. */
export interface FailureForm {
  readonly service: string;
  readonly column: Column;
  readonly status: number;
  readonly body: JsonValue;
  readonly headers: Readonly<Record<string, string>>;
  /** The kinds as which the gateway may read it. */
  readonly kinds: readonly FailureKind[];
  /** The wait that it asks for, in milliseconds. */
  readonly waitMs: number | undefined;
  /** True when it may also come inside an answer. */
  readonly isInside: boolean;
  /** A page about it; `undefined` when none was found. */
  readonly source: string | undefined;
  /** The part that the source has; without a source, the places that were searched. */
  readonly checked: "body" | "code" | undefined;
  readonly unsourced: string | undefined;
}

/** The kinds of refusals in the table, with the kinds as which the gateway reads each. */
export const COLUMNS = {
  minute_limit: ["rate_limited"],
  plan_used_up: ["quota"],
  out_of_credit: ["quota"],
  refused_key: ["authentication"],
  refused_rights: ["permission"],
  too_large: ["too_large", "context_too_long"],
  overloaded: ["overloaded", "rate_limited"],
} as const satisfies Readonly<Record<string, readonly FailureKind[]>>;

/** A kind of refusal of the table. */
export type Column = keyof typeof COLUMNS;

export const COLUMN_NAMES: readonly Column[] = [
  "minute_limit",
  "plan_used_up",
  "out_of_credit",
  "refused_key",
  "refused_rights",
  "too_large",
  "overloaded",
];

const PATH = new URL("../../fixtures/failures.yaml", import.meta.url);

/** The text of the table. Its comment counts the sources. */
export const TABLE_TEXT: string = Deno.readTextFileSync(PATH);

/** The table, by service. */
export const TABLE: JsonObject = yamlObject(TABLE_TEXT);

/** Returns the row of a service, or the row that it shares with another service. */
export function rowOf(service: string): JsonObject {
  const row = TABLE[service];
  if (typeof row === "string") return rowOf(row);
  assert.ok(isJsonObject(row), service);
  return row;
}

/** Returns a refusal; `undefined` if the service has none of this kind. */
export function formOf(
  service: string,
  column: Column,
): FailureForm | undefined {
  const entry = rowOf(service)[column];
  if (entry === "none") return undefined;
  assert.ok(isJsonObject(entry), `${service}: ${column}`);
  const { status, body, headers, kind, wait, inside, source } = entry;
  const { checked, unsourced } = entry;
  assert.ok(typeof status === "number" && body !== undefined, service);
  const own = COLUMNS[column].find((one) => one === kind) ??
    (kind === "permission" || kind === "forbidden" ? kind : undefined);
  assert.equal(own, kind, service);
  return {
    ...{ service, column, status, body },
    headers: isJsonObject(headers)
      ? Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      )
      : {},
    kinds: own === undefined ? COLUMNS[column] : [own],
    waitMs: typeof wait === "number" ? 1000 * wait : undefined,
    isInside: inside === true,
    source: typeof source === "string" ? source : undefined,
    checked: checked === "body" || checked === "code" ? checked : undefined,
    unsourced: typeof unsourced === "string" ? unsourced : undefined,
  };
}

/** Every refusal of the table. */
export const FORMS: readonly FailureForm[] = Object.entries(TABLE)
  .filter(([, row]) => typeof row !== "string")
  .flatMap(([service]) =>
    COLUMN_NAMES.flatMap((column) => formOf(service, column) ?? [])
  );

/** Returns the text of a printed cell: the status, and the code or type of the error. */
export function cellOf(form: FailureForm | undefined): string {
  if (form === undefined) return "";
  const { status, body } = form;
  const outer = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(outer) && isJsonObject(outer.error)
    ? outer.error
    : outer;
  if (!isJsonObject(error)) return String(status);
  const word = [error.code, error.status, error.type].find((one) =>
    typeof one === "string" && /^[\w.-]+$/.test(one) && one !== String(status)
  );
  return word === undefined ? String(status) : `${status} \`${word}\``;
}
