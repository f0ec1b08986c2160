import type { Ids } from "@gateway/base/ids";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { SearchRun } from "../../canonical/content/block.ts";
import type { WebSearch } from "../../canonical/tools/tool.ts";
import { optionalText } from "../request/fields.ts";

/** Reads a tool such as `web_search_20250305`; returns `undefined` for another tool. */
export function decodeSearch(tool: JsonObject): WebSearch | undefined {
  if (!/^web_search_\d{8}$/.test(optionalText(tool.type) ?? "")) {
    return undefined;
  }
  const { type: _type, ...location } = isJsonObject(tool.user_location)
    ? tool.user_location
    : {};
  return {
    location: Object.keys(location).length === 0 ? undefined : location,
    allowedDomains: textsIn(tool.allowed_domains),
    blockedDomains: textsIn(tool.blocked_domains),
    maxUses: typeof tool.max_uses === "number" ? tool.max_uses : undefined,
  };
}

function textsIn(value: unknown): string[] | undefined {
  const texts = Array.isArray(value)
    ? value.filter((one) => typeof one === "string")
    : [];
  return texts.length === 0 ? undefined : texts;
}

/** The blocks of a search: the call, and its result. */
interface SearchBlocks {
  readonly call: JsonObject;
  /** The input of the call. Streams send it after the start of the block. */
  readonly input: JsonObject;
  readonly result: JsonObject;
}

/**
 * Returns a search of another provider as the blocks that clients count and show. Claude Code reads the pages from the
 * result. The encrypted content is empty, because only Anthropic can issue it.
 */
export function searchBlocks(
  { query, pages }: SearchRun,
  ids: Ids,
): SearchBlocks {
  const id = ids.next("srvtoolu");
  return {
    call: { type: "server_tool_use", id, name: "web_search", input: {} },
    input: { query },
    result: {
      type: "web_search_tool_result",
      tool_use_id: id,
      content: pages.map((url) => ({
        type: "web_search_result",
        url,
        title: url,
        encrypted_content: "",
        page_age: null,
      })),
    },
  };
}

/** Returns the field of `usage` that counts searches, or no field if there was no search. */
export function searchUsage(searches: number): JsonObject {
  return searches === 0
    ? {}
    : { server_tool_use: { web_search_requests: searches } };
}
