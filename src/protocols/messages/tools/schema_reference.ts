import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";

/** Whether following the references of a schema comes back to where it was, or leaves it. */
export function isRecursive(schema: JsonObject): boolean {
  return leadsBack(schema, { root: schema, open: new Set(), done: new Set() });
}

/** The schema that a reference such as `#/$defs/city` means. */
export function resolve(
  reference: string,
  root: JsonObject,
): JsonObject | undefined {
  const [start, ...path] = reference.split("/");
  if (start !== "#") return undefined;
  let place: JsonValue | undefined = root;
  for (const key of path) {
    place = isJsonObject(place) && Object.hasOwn(place, key)
      ? place[key]
      : undefined;
  }
  return isJsonObject(place) ? place : undefined;
}

/** What is known of a schema's references while they are followed. */
interface Trail {
  readonly root: JsonObject;
  /** References that are being followed. */
  readonly open: Set<string>;
  /** References that were followed to their ends. */
  readonly done: Set<string>;
}

/** Whether following references from `value` comes back to where it was, or leaves the schema. */
function leadsBack(value: JsonValue | undefined, trail: Trail): boolean {
  if (Array.isArray(value)) {
    return value.some((inner) => leadsBack(inner, trail));
  }
  if (!isJsonObject(value)) return false;
  if (typeof value.$ref === "string") {
    return referenceLeadsBack(value.$ref, trail);
  }
  return Object.entries(value).some(([keyword, inner]) =>
    keyword !== "$defs" && keyword !== "definitions" &&
    leadsBack(inner, trail)
  );
}

function referenceLeadsBack(reference: string, trail: Trail): boolean {
  if (trail.done.has(reference)) return false;
  const target = resolve(reference, trail.root);
  if (target === undefined || trail.open.has(reference)) return true;
  trail.open.add(reference);
  const isLoop = leadsBack(target, trail);
  trail.open.delete(reference);
  trail.done.add(reference);
  return isLoop;
}
