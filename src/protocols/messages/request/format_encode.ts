import { type JsonObject, present } from "../../../core/json.ts";
import type { OutputFormat } from "../../canonical/request/request.ts";
import type { Scope } from "../dialect.ts";
import { enforceableSchema } from "../tools/enforceable_schema.ts";

/** How the shape of an answer is asked for. */
export interface Format {
  /** Goes into `output_config.format`. */
  readonly config?: JsonObject | undefined;
  /** Goes to the end of the system text, where the shape can only be told in words. */
  readonly instructions: readonly JsonObject[];
}

/** Writes the shape of the answer, held to by the upstream where it can. */
export function encodeFormat(
  format: OutputFormat | undefined,
  scope: Scope,
): Format {
  if (format === undefined) return { instructions: [] };
  if (format.type === "json") {
    lose(
      "it holds answers to no shape but a schema; it is told in words",
      scope,
    );
    return instruct("Answer with one JSON object and nothing else.");
  }
  const described = { description: format.description, ...format.schema };
  const wanted = present(described);
  const schema = scope.dialect.schemas ? enforceableSchema(wanted) : undefined;
  if (schema !== undefined) {
    return { config: { type: "json_schema", schema }, instructions: [] };
  }
  if (scope.dialect.schemas && format.strict === true) refuse(scope);
  lose("it cannot hold answers to this schema; it is told in words", scope);
  return instruct(
    "Answer with one JSON object and nothing else. It must match this JSON schema:\n" +
      JSON.stringify(wanted),
  );
}

function instruct(text: string): Format {
  return { instructions: [{ type: "text", text }] };
}

function lose(reason: string, { context }: Scope): void {
  context.lose({ field: "format", weight: "hint", reason });
}

function refuse({ context }: Scope): void {
  context.lose({
    field: "format",
    weight: "answer",
    reason:
      "a strict schema must not refer to itself or to others, nor have objects with arbitrary keys",
  });
}
