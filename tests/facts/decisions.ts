import { parse } from "@std/yaml/parse";
import { isJsonObject } from "../../src/base/json.ts";

/** The committed decisions. */
export const DECISIONS_FILE = new URL("decisions.yaml", import.meta.url);

/**
 * Reads the lines of decided differences from YAML.
 *
 * @throws {Error} When a decision has no reason, or no differences.
 */
export function parseDecisions(text: string): readonly string[] {
  const decisions: unknown = parse(text);
  if (!Array.isArray(decisions)) throw new Error("The decisions are no list.");
  return decisions.flatMap((decision: unknown) => {
    if (
      !isJsonObject(decision) || typeof decision.reason !== "string" ||
      decision.reason.trim() === "" || !Array.isArray(decision.differences)
    ) {
      throw new Error("Each decision needs a reason and its differences.");
    }
    return decision.differences.map(String);
  });
}
