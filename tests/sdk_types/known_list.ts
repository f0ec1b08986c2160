import { judgeAnswer } from "./judge_answer.ts";
import { judgeRequest } from "./judge_request.ts";
import type { TypedField } from "./read_types.ts";
import { formatVerdicts } from "./verdict.ts";

/** A line of `known.tsv`. */
export interface KnownField {
  /** As {@linkcode TypedField.path}. */
  readonly path: string;
  /** As `formatVerdicts` writes it. */
  readonly verdict: string;
  /** Why it is no loss where a route leaves it out in silence; else empty. */
  readonly reason: string;
}

/** Where the list is. */
export const KNOWN_FILE: URL = new URL("./known.tsv", import.meta.url);

/** Reads the list. Lines with `#` are for people. */
export function parseKnown(text: string): ReadonlyMap<string, KnownField> {
  const lines = text.split("\n").filter((line) =>
    line !== "" && !line.startsWith("#")
  );
  return new Map(lines.map((line) => {
    const [path = "", verdict = "", reason = ""] = line.split("\t");
    return [path, { path, verdict, reason }];
  }));
}

/** Writes the list with the words for people at its head, sorted by path. */
export function formatKnown(
  fields: readonly KnownField[],
  before: string,
): string {
  const head = before.split("\n").filter((line) => line.startsWith("#"));
  const lines = fields.map(({ path, verdict, reason }) =>
    (reason === "" ? [path, verdict] : [path, verdict, reason]).join("\t")
  );
  return [...head, ...lines.sort(), ""].join("\n");
}

/** What becomes of a field, seen by sending it through every translation. */
export function verdictOf(field: TypedField): string {
  return formatVerdicts(
    field.entry.side === "request" ? judgeRequest(field) : judgeAnswer(field),
  );
}

/** Whether a route leaves the field out in silence, so that the list has to say why. */
export function needsReason(verdict: string): boolean {
  return verdict.includes("ignored");
}
