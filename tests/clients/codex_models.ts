import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../src/base/json.ts";
import { installClient } from "./install.ts";
import { CLIENTS } from "./programs.ts";
import { openTempFolder } from "../support/temp_folder.ts";

/** The catalog that `src/gateway/http/codex_models.ts` reads. */
interface PackedCatalog {
  readonly version: string;
  readonly models: Readonly<Record<string, JsonObject>>;
  readonly texts: readonly string[];
}

// `deno task codex:models` writes the entries of the installed Codex into the source. models_check.ts compares them.

const FILE = new URL(
  "../../src/gateway/http/codex_models.json",
  import.meta.url,
);

/** Returns the catalog that a program of Codex contains. */
export async function bundledCatalog(
  [path = "", ...args]: readonly string[],
  version: string,
): Promise<PackedCatalog> {
  await using folder = await openTempFolder();
  const { path: home } = folder;
  const { stdout } = await new Deno.Command(path, {
    args: [...args, "debug", "models", "--bundled"],
    clearEnv: true,
    env: { HOME: home },
    stderr: "null",
  }).output();
  const catalog = parseJson(new TextDecoder().decode(stdout));
  const models = isJsonObject(catalog) ? catalog.models : undefined;
  if (!Array.isArray(models)) throw new Error("Codex printed no catalog");
  return packCatalog(version, models.filter(isJsonObject));
}

/** The length from which a text is packed, in characters. */
const PACKED_CHARACTERS = 300;

/** Packs the entries that the picker of Codex shows. */
function packCatalog(
  version: string,
  entries: readonly JsonObject[],
): PackedCatalog {
  const texts: string[] = [];
  const pack = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(pack);
    if (isJsonObject(value)) return packAll(value, pack);
    if (typeof value !== "string" || value.length < PACKED_CHARACTERS) {
      return value;
    }
    if (!texts.includes(value)) texts.push(value);
    return { $text: texts.indexOf(value) };
  };
  const models = Object.fromEntries(
    entries.filter(({ visibility }) => visibility === "list")
      .map((entry) => [String(entry.slug), packAll(entry, pack)]),
  );
  return { version, models, texts };
}

function packAll(
  object: JsonObject,
  pack: (value: JsonValue) => JsonValue,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, pack(value)]]
    ),
  );
}

if (import.meta.main) {
  const codex = CLIENTS.find(({ name }) => name === "Codex CLI");
  if (codex === undefined) throw new Error("There is no Codex");
  const installed = await installClient(codex);
  if ("reason" in installed) throw new Error(installed.reason);
  const catalog = await bundledCatalog(installed.command, codex.source.version);
  await Deno.writeTextFile(FILE, `${JSON.stringify(catalog, null, 2)}\n`);
}
