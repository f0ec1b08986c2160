import type { SchemaAbility } from "../request/ability.ts";
import { type JsonObject, present } from "@gateway/base/json";
import type { LossReport } from "../request/loss.ts";
import type { OutputFormat } from "../request/request.ts";
import type { FunctionTool } from "../tools/tool.ts";
import { enforceableSchema, type StrictRoom } from "./enforceable_schema.ts";
import { promiseFault, strictFault } from "./object_schema.ts";
import { rootObject } from "./root_object.ts";
import { fitArguments, fitSchema } from "./schema_subset.ts";

/** The target of a schema, with the room that the request's strict schemas share. */
export interface SchemaScope {
  readonly ability: SchemaAbility;
  readonly room: StrictRoom;
  readonly losses: LossReport;
}

/** The format that a target takes, and the instruction that replaces a format that the target does not enforce. */
interface FittedFormat {
  readonly format?: OutputFormat | undefined;
  readonly instruction?: string | undefined;
}

type SchemaFormat = Extract<OutputFormat, { type: "schema" }>;

/**
 * Fits an output format to a target. An instruction to the model replaces a format that the target does not enforce.
 *
 * @throws {GatewayError} `invalid_request` for a strict schema that the target would refuse.
 */
export function fitFormat(
  format: OutputFormat | undefined,
  hasTools: boolean,
  scope: SchemaScope,
): FittedFormat {
  const { ability } = scope;
  if (format === undefined) return {};
  if (hasTools && !ability.formatsWithTools) {
    return instructed(format, "accepts no output format beside tools", scope);
  }
  if (format.type === "json") {
    switch (ability.json) {
      case "object":
        return { format };
      case "schema":
        return { format: { type: "schema", schema: { type: "object" } } };
      case "none":
        return instructed(format, "has no JSON format without a schema", scope);
    }
  }
  if (!ability.formatSchemas) {
    return {
      ...instructed(format, "enforces no schema", scope),
      ...(ability.json === "object" ? { format: { type: "json" } } : {}),
    };
  }
  return ability.enforces === "closed"
    ? closedFormat(format, scope)
    : { format: schemaFormat(format, scope) };
}

function instructed(
  format: OutputFormat,
  why: string,
  { losses }: SchemaScope,
): FittedFormat {
  losses.reportDropped(
    "format",
    `this model's provider ${why}; an instruction asks for the format instead`,
  );
  const instruction = "Answer with one JSON object and nothing else.";
  if (format.type === "json") return { instruction };
  const schema = JSON.stringify(described(format));
  return {
    instruction: `${instruction} It must match this JSON schema:\n${schema}`,
  };
}

function described({ description, schema }: SchemaFormat): JsonObject {
  return present({ description, ...schema });
}

function closedFormat(
  format: SchemaFormat,
  scope: SchemaScope,
): FittedFormat {
  const schema = enforceableSchema(described(format));
  if (schema !== undefined && scope.room.takes(schema, "format")) {
    return { format: { ...format, schema } };
  }
  if (format.strict === true) {
    scope.losses.reportDropped(
      "format",
      "a strict schema must not refer to itself or to others, nor have objects with arbitrary keys",
      "reject",
    );
  }
  return instructed(format, "cannot enforce this schema", scope);
}

/**
 * Returns the format with a fitted schema. `strict` becomes true if the schema allows strictness and the request does
 * not set `strict` to false.
 */
function schemaFormat(
  format: SchemaFormat,
  { ability, losses }: SchemaScope,
): SchemaFormat {
  const schema = fitSchema(format.schema, ability.subset, losses);
  const { strict } = format;
  if (strict === false) return { ...format, schema };
  const fault = strict === "wanted"
    ? promiseFault(schema)
    : strictFault(schema);
  if (fault === undefined) return { ...format, schema, strict: true };
  if (strict === true && ability.enforces === "any") {
    return { ...format, schema };
  }
  if (strict !== undefined) {
    losses.reportDropped(
      "format",
      fault,
      strict === true ? "reject" : "report",
    );
  }
  return { ...format, schema, strict: undefined };
}

/**
 * Returns the schema of a tool's arguments in the form that a target takes, and `strict`. When the target cannot
 * enforce the schema, `strict` is dropped, because the tool works without `strict`.
 */
export function fitFunction(
  { name, parameters, strict }: FunctionTool,
  { ability, room, losses }: SchemaScope,
): { readonly schema: JsonObject; readonly strict: boolean | undefined } {
  const { subset, enforces } = ability;
  if (enforces === "any" || enforces === "openai") {
    const schema = fitArguments(parameters, subset, losses);
    const fault = strict === true && enforces === "openai"
      ? strictFault(schema)
      : undefined;
    if (fault === undefined) return { schema, strict };
    losses.reportDropped("toolStrictness", fault);
    return { schema, strict: undefined };
  }
  const root = rootObject(parameters);
  const schema = fitSchema(root, subset, losses);
  if (strict !== true) return { schema, strict };
  const closed = enforces === "closed" ? enforceableSchema(root) : undefined;
  if (closed !== undefined && room.takes(closed, "tool")) {
    return { schema: closed, strict };
  }
  losses.reportDropped(
    "toolStrictness",
    closed === undefined
      ? "this model's provider cannot enforce this schema of a tool's arguments"
      : `this model's provider cannot enforce so many strict tools; ${name} is not strict`,
  );
  return { schema, strict: undefined };
}
