import type { Connection } from "../config/config.ts";
import type { ServiceName } from "../config/services.ts";
import { parseLightJson } from "../core/json.ts";
import {
  type Endpoint,
  ENDPOINTS,
  FAMILIES,
  isProtocol,
} from "../core/protocol.ts";
import { Turns } from "../core/time/turns.ts";
import { CODECS } from "../protocols/mod.ts";
import { discard, readText } from "../streams/byte_reader.ts";
import type { Fetch } from "../upstream/call.ts";
import { upstreamHeaders } from "../upstream/headers.ts";
import { secretsOf } from "../upstream/secrets.ts";
import { type ModelPage, type PageQuery, readModelPage } from "./model_page.ts";
import type { ModelFacts } from "./model_facts.ts";

/** What a provider says of a connection's models, by the provider's names of them. */
export type ModelList = ReadonlyMap<string, ModelFacts>;

/** What reading a list needs from outside. */
interface ReadListOptions {
  readonly fetch: Fetch;
  /** `<vendor_b>`, the prefix of the version header of Messages. */
  readonly messagesVendor: string;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Why there is no list, in words that hold nothing of the provider's. */
export class NoModelList extends Error {
  override readonly name = "NoModelList";
}

/** A page that is longer is given up, in bytes. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** A list has no more pages that are read. */
const MAX_PAGES = 10;

type Query = Readonly<Record<string, string>>;

/** How a service's list is asked for. */
const QUERY_BY_SERVICE: Readonly<Partial<Record<ServiceName, Query>>> = {
  // Its entries are long: so many stay below MAX_PAGE_BYTES.
  openrouter: { limit: "200" },
  // It lists nothing for a client that names no version.
  codex: { client_version: "0.169.0" },
};

/**
 * How the lists of all other services are asked for where a protocol's lists have pages: Anthropic gives 20 entries a
 * page unless it is asked for more, and 1000 at most (https://platform.claude.com/docs/en/api/models/list).
 */
const QUERY_BY_ENDPOINT: Readonly<Partial<Record<Endpoint, Query>>> = {
  messages: { limit: "1000" },
};

/**
 * Asks a connection's provider for its models, at each of the connection's base URLs until one has a list. Follows
 * no redirect, goes to no address that the provider names, and carries no credential but the connection's.
 *
 * @returns What is said of the connection's own models.
 * @throws {NoModelList} When there is no such list, saying why the first base URL has none.
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

/** One for each base URL, the family's own first. */
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
  /** Names of models by which the provider knows the connection's. */
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
 * An entry goes to Codex as it came, and one that Codex cannot read costs it the whole catalog: those of other services
 * are none of Codex's, though they may look alike.
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
  const text = await reached(
    readText(answer, MAX_PAGE_BYTES),
    context.signal,
  );
  if (text === undefined) {
    throw new NoModelList("a page of the list is longer than 1 MiB");
  }
  // Names come back to callers, and a provider may repeat the key in any of them.
  if (await holdsSecret(text, context.connection)) {
    throw new NoModelList("the list holds the connection's key");
  }
  const body = parseLightJson(text);
  const page = body === undefined
    ? undefined
    : readModelPage(body, context.wanted);
  if (page === undefined) throw new NoModelList("the answer is no list");
  return page;
}

/** So much of a page is searched at once, in characters. */
const PART_LENGTH = 64 * 1024;

/** What gives a key away is not as long, even where each of its characters is escaped. */
const OVERLAP_LENGTH = 1024;

/** To undo a page's escapes may take 100 ms for each megabyte: others have their turn between its parts. */
async function holdsSecret(
  text: string,
  connection: Connection,
): Promise<boolean> {
  const secrets = secretsOf(connection);
  const turns = new Turns();
  for (let start = 0; start < text.length; start += PART_LENGTH) {
    const end = start + PART_LENGTH + OVERLAP_LENGTH;
    if (secrets.areIn(text.slice(start, end))) return true;
    turns.count(PART_LENGTH);
    await turns.next();
  }
  return false;
}

async function send(
  { connection, endpoint, fetch, messagesVendor, signal }: ReadPages,
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
  const answer = await reached(
    fetch(url.href, {
      headers: upstreamHeaders(headers, connection),
      redirect: "manual",
      signal,
    }),
    signal,
  );
  if (answer.ok) return answer;
  discard(answer);
  throw new NoModelList(`the provider answers with ${answer.status}`);
}

/** What comes of an exchange with the provider. */
async function reached<Value>(
  exchange: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  try {
    return await exchange;
  } catch (cause) {
    throw new NoModelList(
      signal.aborted
        ? "the provider does not tell them in time"
        : "the provider cannot be reached",
      { cause },
    );
  }
}
