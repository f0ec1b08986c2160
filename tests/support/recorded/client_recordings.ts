import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/core/json.ts";

/** A request of a real client, with long texts shortened. */
export interface ClientRequest {
  /** Such as `claude-code.jsonl toolsearch 2`. */
  readonly name: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: JsonObject;
  readonly body: JsonObject;
}

const ROOT = new URL("../../../../shared/recordings/clients/", import.meta.url);

/**
 * Returns the recorded requests whose path ends in `path`; none when this machine has no
 * recordings.
 */
export function loadClientRequests(path: string): ClientRequest[] {
  return fileNames().flatMap((file) =>
    Deno.readTextFileSync(new URL(file, ROOT)).split("\n").flatMap((line) => {
      const record = parseJson(line);
      return isJsonObject(record) ? requestOf(record, file) : [];
    })
  ).filter(({ url }) => url.split("?")[0]?.endsWith(path));
}

function fileNames(): string[] {
  try {
    return [...Deno.readDirSync(ROOT)].map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function requestOf(record: JsonObject, file: string): ClientRequest[] {
  const { phase, url, headers, body, run, n } = record;
  if (phase !== "req" || typeof url !== "string" || !isJsonObject(body)) {
    return [];
  }
  return [{
    name: `${file} ${run} ${n}`,
    url,
    headers: isJsonObject(headers) ? headers : {},
    body,
  }];
}
