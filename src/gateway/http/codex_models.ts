import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { mapValues } from "@gateway/base/std";

/** Marks a reference to a text in `texts`, by index. Most texts are long, and several entries have the same text. */
const TEXT_KEY = "$text";

/** The catalog of Codex, packed: each long text is stored only once. */
interface PackedCatalog {
  /** The version of Codex that the catalog comes from. */
  readonly version: string;
  readonly models: Readonly<Record<string, JsonObject>>;
  readonly texts: readonly string[];
}

/** Reads the catalog on first use, because the catalog is large and most gateways do not serve Codex. */
async function packedCatalog(): Promise<PackedCatalog> {
  const file = await import("./codex_models.json", { with: { type: "json" } });
  return file.default;
}

/** The first minor version of Codex that reads all fields of the entries. An older version may reject all entries. */
const SINCE_MINOR = 169;

/**
 * Returns Codex's own catalog entry of a model: OpenAI's instructions, tools, efforts and sizes. The entries are those
 * of `codex debug models --bundled` in the npm package `@openai/codex` (Apache-2.0; source:
 * https://github.com/openai/codex, codex-rs/models-manager/models.json). `task codex:models` writes the entries.
 *
 * A newer model of OpenAI has the entry of its nearest relative, without the relative's name, sizes and tiers.
 *
 * @param id The model's id at OpenAI.
 * @param version The version of Codex that reads the entry.
 * @returns `undefined` for a model that Codex does not know, and for a version that may be unable to read the entry.
 */
export async function ownCodexEntry(
  id: string,
  version: string,
): Promise<JsonObject | undefined> {
  if (!isCodexSince(SINCE_MINOR, version)) return undefined;
  const { models, texts } = await packedCatalog();
  const known = Object.hasOwn(models, id) ? id : nearestRelative(id, models);
  const packed = known === undefined ? undefined : models[known];
  const entry = packed && unpacked(packed, texts);
  if (!isJsonObject(entry)) return undefined;
  return known === id ? entry : Object.fromEntries(
    Object.entries(entry).filter(([field]) => !OWN_FIELDS.has(field)),
  );
}

/**
 * The fields that a newer model does not copy from a relative. Codex has defaults for them, or the gateway sets them.
 */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...["slug", "display_name", "description", "availability_nux"],
  ...["context_window", "max_context_window"],
  ...["additional_speed_tiers", "service_tiers", "default_service_tier"],
]);

/** Matches an id such as `gpt-6.2-sol`, also with a date. */
const KIND_REGEXP = /^gpt-(\d+)(?:\.(\d+))?-([a-z]+)/;

/**
 * Returns the known model whose entry fits an unknown model: the nearest version of the same kind, else of any kind. If
 * the unknown model is older than all known models, returns `undefined`, because older models lack the tools.
 */
function nearestRelative(
  id: string,
  models: PackedCatalog["models"],
): string | undefined {
  const asked = generationOf(id);
  if (asked === undefined) return undefined;
  const known = Object.keys(models).flatMap((one) => generationOf(one) ?? []);
  if (known.every(({ version }) => version > asked.version)) return undefined;
  const sameKind = known.filter(({ kind }) => kind === asked.kind);
  const distance = ({ version }: Generation) =>
    Math.abs(version - asked.version);
  return (sameKind.length > 0 ? sameKind : known)
    .toSorted((a, b) => distance(a) - distance(b))[0]?.id;
}

interface Generation {
  readonly id: string;
  /** A number that orders the versions: 602 for 6.2. */
  readonly version: number;
  readonly kind: string;
}

function generationOf(id: string): Generation | undefined {
  const [, major, minor = 0, kind] = KIND_REGEXP.exec(id) ?? [];
  return kind === undefined
    ? undefined
    : { id, version: Number(major) * 100 + Number(minor), kind };
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
