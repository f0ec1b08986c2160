import type { SseFrame } from "../../../src/base/frame.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import { runStage } from "../../../src/base/stage.ts";
import { createSseParser } from "../../../src/base/streams/sse.ts";

/** A recorded exchange with a provider. Parts that were not recorded are absent. */
export interface Recording {
  /** The folder's name, such as `openai-gpt-4o-text`. */
  readonly name: string;
  readonly request?: JsonObject;
  readonly answer?: JsonValue;
  /** The bytes of the stream. */
  readonly stream?: Uint8Array;
  readonly tags: ReadonlySet<string>;
}

const ROOT = new URL("../../../../shared/recordings/", import.meta.url);

/**
 * Returns the recordings of a folder such as `chat` or `errors`, by name; none when this machine
 * has none, see {@linkcode hasRecordings}.
 */
export function loadRecordings(folder: string): Recording[] {
  const tags = readTags();
  if (tags === undefined) return [];
  const names = [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].map((
    { name },
  ) => name).sort();
  return names.map((name) => loadRecording(`${folder}/${name}`, name, tags));
}

/** A request of a real client. */
export interface ClientRequest {
  /** Client, run and number, such as `codex text 1`. */
  readonly name: string;
  /** Path and query. */
  readonly url: string;
  /** The names are lower-case. `<TOKEN>` replaces each secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly request: JsonObject;
}

/** The recorded clients. */
const CLIENTS = [
  ...["ai-sdk", "anthropic-sdk", "claude-code", "codex", "continue-cli"],
  ...["openai-sdk", "opencode", "qwen-code"],
];

/**
 * Returns the JSON requests of all recorded clients to paths that match; none when this machine has no recordings.
 */
export function loadClientRequests(path = /(?:)/): ClientRequest[] {
  return CLIENTS.flatMap(requestsOfClient)
    .filter(({ url }) => path.test(url.split("?")[0] ?? ""));
}

function requestsOfClient(client: string): ClientRequest[] {
  const bytes = read(`clients/${client}.jsonl`);
  if (bytes === undefined) return [];
  const lines = new TextDecoder().decode(bytes).trim().split("\n");
  return lines.map(parseJson).filter(isJsonObject).flatMap((line) =>
    isJsonObject(line.body)
      ? [{
        name: `${client} ${line.run} ${line.n}`,
        url: String(line.url),
        headers: headersOf(line.headers),
        request: line.body,
      }]
      : []
  );
}

/** Returns true when the recordings are beside the repository. */
export function hasRecordings(): boolean {
  return read("index.tsv") !== undefined;
}

/** Returns the events of a recorded stream. */
export function parseFrames(stream: Uint8Array): SseFrame[] {
  return runStage(createSseParser({ maxFrameCharacters: 1 << 24 }), [stream]);
}

function loadRecording(
  path: string,
  name: string,
  tags: ReadonlyMap<string, ReadonlySet<string>>,
): Recording {
  const request = readJson(`${path}/request.json`);
  const answer = readJson(`${path}/response.json`);
  const stream = read(`${path}/response.sse`);
  return {
    name,
    tags: tags.get(path) ?? new Set(),
    ...(isJsonObject(request) ? { request } : {}),
    ...(answer === undefined ? {} : { answer }),
    ...(stream === undefined ? {} : { stream }),
  };
}

function headersOf(value: JsonValue | undefined): Record<string, string> {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.map(([name, text]) => [name, String(text)]),
  );
}

function readTags(): Map<string, ReadonlySet<string>> | undefined {
  const index = read("index.tsv");
  if (index === undefined) return undefined;
  const lines = new TextDecoder().decode(index).trim().split("\n").slice(1);
  return new Map(lines.map((line) => {
    const [path = "", , , , tags = ""] = line.split("\t");
    return [path, new Set(tags.split(" "))];
  }));
}

function readJson(path: string): JsonValue | undefined {
  const bytes = read(path);
  return bytes === undefined
    ? undefined
    : parseJson(new TextDecoder().decode(bytes));
}

function read(path: string): Uint8Array | undefined {
  try {
    return Deno.readFileSync(new URL(path, ROOT));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
