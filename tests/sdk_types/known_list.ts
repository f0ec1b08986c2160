import { judgeAnswer } from "./judge_answer.ts";
import { judgeRequest } from "./judge_request.ts";
import type { TypedField } from "./read_types.ts";
import { formatVerdicts } from "./verdict.ts";

/** A line of `known.tsv`. */
export interface KnownField {
  /** The path, as in {@linkcode TypedField}. */
  readonly path: string;
  /** The verdict, as `formatVerdicts` writes it. */
  readonly verdict: string;
  /** The reason why a route may silently leave it out; empty if none does. */
  readonly reason: string;
}

/** The list. */
export const KNOWN_FILE: URL = new URL("./known.tsv", import.meta.url);

/** Reads the list, without its comments (`#`). */
export function parseKnown(text: string): ReadonlyMap<string, KnownField> {
  const lines = text.split("\n").filter((line) =>
    line !== "" && !line.startsWith("#")
  );
  return new Map(lines.map((line) => {
    const [path = "", verdict = "", reason = ""] = line.split("\t");
    return [path, { path, verdict, reason }];
  }));
}

/** Writes the list, sorted by path, below the comments of the old one. */
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

/** Returns the verdict on a field, which is sent through every translation. */
export function verdictOf(field: TypedField): string {
  return formatVerdicts(
    field.entry.side === "request" ? judgeRequest(field) : judgeAnswer(field),
  );
}

/** Returns true when a route silently leaves the field out: the list must then have a reason. */
export function needsReason(verdict: string): boolean {
  return verdict.includes("ignored");
}
