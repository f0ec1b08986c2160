import { type JsonObject, present } from "../../../src/base/json.ts";

// The events of a Responses stream.

/** Returns an event. */
export function event(type: string, fields: JsonObject): JsonObject {
  return { type: `response.${type}`, ...fields };
}

/** Returns the event that begins an item. */
export function added(output_index: number, item: JsonObject): JsonObject {
  return event("output_item.added", { output_index, item });
}

/** Returns the event that ends an item. */
export function done(output_index: number, item: JsonObject): JsonObject {
  return event("output_item.done", { output_index, item });
}

/** Returns the fields of an event that name a part of an item. */
export function at(
  output_index: number,
  content_index: number,
  item_id?: string,
): JsonObject {
  return present({ item_id, output_index, content_index });
}
