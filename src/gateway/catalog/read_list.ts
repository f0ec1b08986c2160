import type { Fetch } from "../upstream/call.ts";
import type { Connection } from "../config/config.ts";
import type { ServiceName } from "@gateway/services";
import { parseLightJson } from "@gateway/base/json";
import {
  type Endpoint,
  ENDPOINTS,
  FAMILIES,
  isProtocol,
} from "@gateway/base/protocol";
import type { Clock } from "@gateway/base/time/timers";
import { LoopTurns } from "@gateway/base/time/turns";
import { CODECS } from "@gateway/codecs";
import { discard, readText } from "@gateway/base/streams/byte_reader";
import { signatureOf } from "../upstream/aws_signature.ts";
import { upstreamHeaders } from "../upstream/headers.ts";
import { secretsOf } from "../upstream/secrets.ts";
import { type ModelPage, type PageQuery, readModelPage } from "./model_page.ts";
import type { ModelFacts } from "./model_facts.ts";

/** The facts about a connection's models, by the provider's names of the models. */
export type ModelList = ReadonlyMap<string, ModelFacts>;

/** The dependencies of a reading. */
interface ReadListOptions {
  readonly fetch: Fetch;
  readonly clock: Pick<Clock, "now">;
  /** `<vendor_b>`, the prefix of the version header of Messages. */
  readonly messagesVendor: string;
  /** Cancels the reading. */
  readonly signal: AbortSignal;
}

/** The reason why there is no list, without any text of the provider. */
export class NoModelList extends Error {
  override readonly name = "NoModelList";
}

/** The longest page that is read, in bytes. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** The largest number of pages that are read. */
const MAX_PAGES = 10;

type Query = Readonly<Record<string, string>>;

/** The query for a list of models, by service. Other services use {@linkcode QUERY_BY_ENDPOINT}. */
const QUERY_BY_SERVICE: Readonly<Partial<Record<ServiceName, Query>>> = {
  // OpenRouter's entries are long. A page of 200 entries is shorter than MAX_PAGE_BYTES.
  openrouter: { limit: "200" },
  // The back end of Codex sends an empty list unless the client names a version.
  codex: { client_version: "0.169.0" },
};

/**
 * The query for a list of models of any other service, by protocol. Anthropic sends 20 entries per page by default and
 * at most 1000 (https://platform.claude.com/docs/en/api/models/list).
 */
const QUERY_BY_ENDPOINT: Readonly<Partial<Record<Endpoint, Query>>> = {
  messages: { limit: "1000" },
};

/**
 * Reads the models of a connection's provider. Tries each base URL of the connection, until a base URL has a list.
 * Follows no redirect, calls no URL from the provider, and sends no credential but the connection's.
 *
 * @returns The facts about the connection's own models.
 * @throws {NoModelList} When no base URL has a list. The message is the reason at the first base URL.
 */
export async function readModelList(
  connection: Connection,
  options: ReadListOptions,
): Promise<ModelList> {
  const wanted = new Set(connection.models.map(({ upstream }) => upstream));
  let failure: NoModelList | undefined;
  for (const endpoint of endpointsOf(connection)) {
    try {
      return await readPages({ connection, endpoint, wanted, ...options });
    } catch (error) {
      if (!(error instanceof NoModelList)) throw error;
      failure ??= error;
      if (options.signal.aborted) break;
    }
  }
  throw failure ?? new NoModelList("the connection has no endpoint");
}

/** Returns one endpoint for each base URL. The endpoint of the family's protocol comes first. */
function endpointsOf({ endpoints, family }: Connection): readonly Endpoint[] {
  const seen = new Set<string>();
  return [FAMILIES[family].protocol, ...ENDPOINTS].filter((endpoint) => {
    const base = endpoints[endpoint];
    if (base === undefined || seen.has(base)) return false;
    seen.add(base);
    return true;
  });
}

interface ReadPages extends ReadListOptions {
  readonly connection: Connection;
  readonly endpoint: Endpoint;
  /** The provider's names of the connection's models. */
  readonly wanted: ReadonlySet<string>;
}

async function readPages(context: ReadPages): Promise<ModelList> {
  const found = new Map<string, ModelFacts>();
  let next: PageQuery | undefined;
  let count = 0;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await readPage(context, queryOf(context, next, count));
    for (const [id, facts] of page.models) {
      if (!found.has(id)) found.set(id, factsFrom(context, facts));
    }
    count += page.count;
    next = page.next;
    if (next === undefined || page.count === 0) break;
    if (found.size === context.wanted.size) break;
  }
  return found;
}

/**
 * Removes the Codex entry from the facts unless the service is `codex`. Other services may have entries that only look
 * like Codex entries. Codex receives entries unchanged, and rejects all entries if it cannot parse one entry.
 */
function factsFrom({ connection }: ReadPages, facts: ModelFacts): ModelFacts {
  return connection.service === "codex"
    ? facts
    : { ...facts, codexEntry: undefined };
}

function queryOf(
  { connection: { service }, endpoint }: ReadPages,
  next: PageQuery | undefined,
  count: number,
): Query {
  const page = next !== undefined && "offset" in next
    ? { offset: String(count) }
    : next;
  return {
    ...(QUERY_BY_SERVICE[service] ?? QUERY_BY_ENDPOINT[endpoint]),
    ...page,
  };
}

async function readPage(
  context: ReadPages,
  query: Query,
): Promise<ModelPage> {
  const answer = await send(context, query);
  const text = await resultOf(
    readText(answer, MAX_PAGE_BYTES),
    context.signal,
  );
  if (text === undefined) {
    throw new NoModelList("a page of the list is longer than 1 MiB");
  }
  // Callers receive names from the list, and a provider may repeat the key in any name.
  if (await holdsSecret(text, context.connection)) {
    throw new NoModelList("the list contains the connection's key");
  }
  const body = parseLightJson(text);
  const page = body === undefined
    ? undefined
    : readModelPage(body, context.wanted);
  if (page === undefined) {
    throw new NoModelList("the response is not a list of models");
  }
  return page;
}

/** The length of the parts in which a page is searched, in characters. */
const PART_LENGTH = 64 * 1024;

/**
 * The overlap of two parts, in characters. A beginning of a key that is long enough to reveal the key fits into the
 * overlap, even if each character is escaped.
 */
const OVERLAP_LENGTH = 1024;

/**
 * Searches a page for the connection's key. Pauses for other work, because unescaping takes up to 100 ms per megabyte.
 */
async function holdsSecret(
  text: string,
  connection: Connection,
): Promise<boolean> {
  const secrets = secretsOf(connection);
  const turns = new LoopTurns();
  for (let start = 0; start < text.length; start += PART_LENGTH) {
    const end = start + PART_LENGTH + OVERLAP_LENGTH;
    if (secrets.areIn(text.slice(start, end))) return true;
    turns.count(PART_LENGTH);
    await turns.next();
  }
  return false;
}

async function send(
  { connection, endpoint, fetch, clock, messagesVendor, signal }: ReadPages,
  query: Query,
): Promise<Response> {
  const url = new URL(`${connection.endpoints[endpoint]}/models`);
  for (const [name, value] of Object.entries(query)) {
    url.searchParams.set(name, value);
  }
  const headers = new Headers([
    ["accept", "application/json"],
    ...isProtocol(endpoint)
      ? CODECS[endpoint].requestHeaders(messagesVendor)
      : [],
  ]);
  const unsigned = {
    method: "GET" as const,
    url: url.href,
    headers: upstreamHeaders(headers, connection),
  };
  const sign = signatureOf(connection, clock);
  const answer = await resultOf(
    fetch(url.href, {
      headers: sign ? await sign(unsigned) : unsigned.headers,
      redirect: "manual",
      signal,
    }),
    signal,
  );
  if (answer.ok) return answer;
  discard(answer);
  throw new NoModelList(`the provider answered with status ${answer.status}`);
}

/** Returns the result of an exchange with the provider, or throws the reason of its failure. */
async function resultOf<Value>(
  exchange: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  try {
    return await exchange;
  } catch (cause) {
    throw new NoModelList(
      signal.aborted
        ? "the provider did not answer in time"
        : "the gateway cannot reach the provider",
      { cause },
    );
  }
}
