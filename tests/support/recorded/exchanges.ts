import type { JsonObject } from "../../../src/base/json.ts";
import type { Operation, Protocol } from "../../../src/base/protocol.ts";

/** A recorded exchange with a real provider. */
export interface RecordedExchange {
  /** The folder, such as `chat/zai-glm-4.6-text`. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly operation: Operation;
  readonly model: string;
  readonly streamed: boolean;
  readonly status: number;
  readonly contentType: string;
  readonly request: Uint8Array<ArrayBuffer>;
  readonly answer: Uint8Array<ArrayBuffer>;
}

/** The folder of the recordings, beside the repository. */
const ROOT = new URL("../../../../shared/recordings/", import.meta.url);

/**
 * The operation of each kind of exchange. The gateway has no route for the kinds that are missing
 * here.
 */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  "chat create": "chat_completions",
  "messages create": "messages",
  "messages count_tokens": "count_tokens",
  "responses create": "responses",
  "responses compact": "compact",
};

/**
 * Returns every recorded exchange of an operation that the gateway serves; none when this machine
 * has no recordings.
 */
export async function loadExchanges(): Promise<readonly RecordedExchange[]> {
  const exchanges: RecordedExchange[] = [];
  for (const folder of ["chat", "messages", "responses", "errors"]) {
    for (const name of await namesIn(folder)) {
      const exchange = await load(`${folder}/${name}`);
      if (exchange !== undefined) exchanges.push(exchange);
    }
  }
  return exchanges;
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
      names.push(name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return names.sort();
}

async function load(name: string): Promise<RecordedExchange | undefined> {
  const meta = JSON.parse(
    new TextDecoder().decode(await read(name, "meta.json")),
  );
  const operation = OPERATIONS[`${meta.protocol} ${meta.endpoint}`];
  if (operation === undefined) return undefined;
  const { model, request } = await loadRequest(name);
  const streamed: boolean = meta.streamed;
  return {
    name,
    protocol: meta.protocol,
    operation,
    model,
    streamed,
    status: meta.status,
    contentType: meta.response_headers?.["content-type"] ??
      (streamed ? "text/event-stream" : "application/json"),
    request,
    answer: await read(name, streamed ? "response.sse" : "response.json"),
  };
}

/**
 * Loads a request, and adds a model when the recording has no request, or names the model in the
 * URL only.
 */
async function loadRequest(
  name: string,
): Promise<Pick<RecordedExchange, "model" | "request">> {
  const request = await read(name, "request.json").catch(() => encode("{}\n"));
  const text = new TextDecoder().decode(request);
  const body: JsonObject = JSON.parse(text);
  if (typeof body.model === "string") return { model: body.model, request };
  const comma = Object.keys(body).length === 0 ? "" : ",";
  const named = text.replace("{", `{ "model": "recorded"${comma}`);
  return { model: "recorded", request: encode(named) };
}

async function read(
  name: string,
  file: string,
): Promise<Uint8Array<ArrayBuffer>> {
  return await Deno.readFile(new URL(`${name}/${file}`, ROOT));
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
