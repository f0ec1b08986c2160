import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { mapValues } from "../core/std.ts";

/**
 * A text of a packed entry, by its place in `texts`. The entries share most of their texts, which are long.
 */
const TEXT_KEY = "$text";

/** The catalog of Codex, packed: each long text is there once. */
interface PackedCatalog {
  /** The version of Codex that it comes from. */
  readonly version: string;
  readonly models: Readonly<Record<string, JsonObject>>;
  readonly texts: readonly string[];
}

/** Reads the catalog when it is first needed: it is large, and most gateways have no Codex. */
async function packedCatalog(): Promise<PackedCatalog> {
  const file = await import("./codex_models.json", { with: { type: "json" } });
  return file.default;
}

/** The minor version of Codex from which on it reads each field of the entries. An older one may reject them all. */
const SINCE_MINOR = 169;

/**
 * Returns Codex's own catalog entry of a model: OpenAI's instructions, tools, efforts and sizes for it. The entries are
 * those of `codex debug models --bundled` in the npm package `@openai/codex` (Apache-2.0; source:
 * https://github.com/openai/codex, codex-rs/models-manager/models.json). `task codex:models` writes them.
 *
 * @param id The model's id at OpenAI.
 * @param version The version of Codex that reads the entry.
 * @returns `undefined` for a model that Codex does not know, and for a version that may not read the entry.
 */
export async function ownCodexEntry(
  id: string,
  version: string,
): Promise<JsonObject | undefined> {
  if (!isCodexSince(SINCE_MINOR, version)) return undefined;
  const { models, texts } = await packedCatalog();
  const packed = Object.hasOwn(models, id) ? models[id] : undefined;
  const entry = packed && unpacked(packed, texts);
  return isJsonObject(entry) ? entry : undefined;
}

/**
 * Returns true when a version of Codex is `0.minor` or later.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * assert.equal(isCodexSince(169, "0.169.0"), true);
 * assert.equal(isCodexSince(169, "1.0.0"), true);
 * assert.equal(isCodexSince(169, "0.168.9"), false);
 * assert.equal(isCodexSince(169, "latest"), false);
 * ```
 */
export function isCodexSince(minor: number, version: string): boolean {
  const [, major = "0", found = "0"] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  return Number(major) > 0 || Number(found) >= minor;
}

function unpacked(value: JsonValue, texts: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((one) => unpacked(one, texts));
  if (!isJsonObject(value)) return value;
  const { [TEXT_KEY]: index } = value;
  return typeof index === "number"
    ? texts[index] ?? ""
    : mapValues(value, (one) => one === undefined ? one : unpacked(one, texts));
}
