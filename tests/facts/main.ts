/**
 * Compares the newest public table of models, in LiteLLM's wheel on PyPI, with the rows of the dialects. Prints the
 * differences that `decisions.yaml` does not decide, and the decisions that are stale. Exits with 1 when there is one
 * of either. `--table FILE` reads a table from a file.
 */
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import { DECISIONS_FILE, parseDecisions } from "./decisions.ts";
import { compareTable, judge } from "./differences.ts";
import { unzipEntry } from "./unzip.ts";

const PROJECT_URL = "https://pypi.org/pypi/litellm/json";
const TABLE_NAME = "litellm/model_prices_and_context_window_backup.json";

Deno.exit(await compare() ? 0 : 1);

/** Returns true when every difference is decided. */
async function compare(): Promise<boolean> {
  const [option, path] = Deno.args;
  let table: JsonObject;
  try {
    table = readTable(
      option === "--table" && path !== undefined
        ? await Deno.readTextFile(path)
        : await newestTable(),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.error(
      `Cannot read the newest table of models: ${why}. Try again with access to pypi.org.`,
    );
    return false;
  }
  const { compared, differences } = compareTable(table);
  const decided = parseDecisions(await Deno.readTextFile(DECISIONS_FILE));
  const { undecided, stale } = judge(differences, decided);
  for (const line of undecided) console.log(`undecided: ${line}`);
  for (const line of stale) console.log(`stale: ${line}`);
  console.log(
    `${compared} models compared, ${differences.length} differences: ${undecided.length} undecided, ${stale.length} stale decisions`,
  );
  return undecided.length === 0 && stale.length === 0;
}

function readTable(text: string): JsonObject {
  const table = parseJson(text);
  if (!isJsonObject(table)) throw new Error("it is no JSON object");
  return table;
}

/** Downloads the newest wheel into memory, and returns the table in it. */
async function newestTable(): Promise<string> {
  const project = parseJson(await (await get(PROJECT_URL)).text());
  const files = isJsonObject(project) && Array.isArray(project.urls)
    ? project.urls.filter(isJsonObject)
    : [];
  const url = files.map((file) => file.url).find((one) =>
    typeof one === "string" && one.endsWith(".whl")
  );
  if (typeof url !== "string") {
    throw new Error("PyPI lists no wheel of litellm");
  }
  // A mirror's addresses may be relative.
  const wheel = new Uint8Array(
    await (await get(new URL(url, PROJECT_URL).href)).arrayBuffer(),
  );
  return new TextDecoder().decode(await unzipEntry(wheel, TABLE_NAME));
}

async function get(url: string): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.timeout(300_000) });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`${new URL(url).host} answers with ${response.status}`);
}
