import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "@gateway/base/json";
import type { SearchRun } from "../../canonical/content/block.ts";
import { isReplacedSearch } from "../../canonical/tools/fit_tools.ts";
import type { Tool, WebSearch } from "../../canonical/tools/tool.ts";
import type { ResponsesDialect, Scope } from "../dialect.ts";
import { textOf } from "../fields.ts";

/** The declaration of the search that the provider runs. It is also the choice of this search. */
export const OWN_SEARCH = { type: "web_search" } as const;

/** Encodes the web search of another protocol. A limit that the provider cannot apply is reported as dropped. */
export function encodeSearch(
  search: WebSearch,
  { context }: Pick<Scope, "context">,
): JsonObject {
  const { contextSize, location, allowedDomains, blockedDomains } = search;
  if (blockedDomains !== undefined) {
    context.reportDropped(
      { extra: "tools.blocked_domains" },
      "this model's provider cannot exclude domains from its search",
    );
  }
  return {
    ...OWN_SEARCH,
    ...present({ search_context_size: contextSize }),
    ...(allowedDomains === undefined
      ? {}
      : { filters: { allowed_domains: [...allowedDomains] } }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", ...location } }),
  };
}

/**
 * Returns the fields that a replaced search needs beside `tools`: the limit of searches, and the request for the pages.
 * Back ends without an output limit support neither field.
 *
 * @param include The entries that the answer must already include.
 */
export function searchFields(
  tools: readonly Tool[],
  include: JsonValue | undefined,
  dialect: ResponsesDialect,
): JsonObject {
  const served = tools.find((tool) => isReplacedSearch(tool, dialect.ability));
  if (served === undefined || !dialect.ability.settings.maxOutputTokens) {
    return {};
  }
  const { maxUses } = served.webSearch ?? {};
  const others = Array.isArray(include) ? include : [];
  return {
    ...present({ max_tool_calls: maxUses }),
    ...(dialect.openAiOnly
      ? { include: [...others, "web_search_call.action.sources"] }
      : {}),
  };
}

/**
 * Returns the search of a `web_search_call`. Returns `undefined` for any other item, and for a call that only opened a
 * page.
 */
export function searchIn({ type, action }: JsonObject): SearchRun | undefined {
  if (type !== "web_search_call" || !isJsonObject(action)) return undefined;
  if (action.type !== "search") return undefined;
  const { query, queries, sources } = action;
  const given = Array.isArray(queries) ? queries.map(textOf) : [];
  return {
    query: textOf(query) ?? given.filter(Boolean).join("; "),
    pages: (Array.isArray(sources) ? sources : []).filter(isJsonObject)
      .map(({ url }) => textOf(url)).filter((url) => url !== undefined),
  };
}
