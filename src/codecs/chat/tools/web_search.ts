import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { WebSearch } from "../../canonical/tools/tool.ts";

/** Reads `web_search_options`, which nests the user's location one level deeper than other protocols do. */
export function decodeWebSearch(
  options: JsonObject | null | undefined,
): WebSearch | undefined {
  if (options === null || options === undefined) return undefined;
  const { search_context_size: size, user_location: place } = options;
  const location = isJsonObject(place) && isJsonObject(place.approximate)
    ? place.approximate
    : undefined;
  return { contextSize: typeof size === "string" ? size : undefined, location };
}

/** Encodes `web_search_options`. */
export function encodeWebSearch(search: WebSearch | undefined): JsonObject {
  if (search === undefined) return {};
  const { contextSize, location } = search;
  return {
    web_search_options: {
      ...(contextSize === undefined
        ? {}
        : { search_context_size: contextSize }),
      ...(location === undefined
        ? {}
        : { user_location: { type: "approximate", approximate: location } }),
    },
  };
}
