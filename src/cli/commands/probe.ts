import type { Config, Connection } from "../../config/config.ts";
import { PROTOCOLS } from "../../core/protocol.ts";
import { CODECS } from "../../protocols/mod.ts";
import { discard } from "../../streams/discard.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { connectionFault, innermostMessage } from "../connection_fault.ts";

/** What an upstream answered to one cheap authenticated request. */
export interface Probe {
  readonly connection: Connection;
  readonly good: boolean;
  /** One line for people, without any secret. */
  readonly finding: string;
}

/** What {@linkcode probeConnections} works with. */
export interface ProbeOptions {
  readonly fetch: typeof fetch;
  /** A signal that aborts after this many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

const DEADLINE_MS = 10_000;

/** Asks every enabled connection for its models, all at once; the results are in the file's order. */
export async function probeConnections(
  config: Config,
  options: ProbeOptions,
): Promise<readonly Probe[]> {
  return await Promise.all(
    config.connections.filter(({ enabled }) => enabled)
      .map((connection) => probe(connection, { ...options, config })),
  );
}

async function probe(
  connection: Connection,
  { fetch, deadline, config }: ProbeOptions & { readonly config: Config },
): Promise<Probe> {
  const endpoint = PROTOCOLS.find((name) =>
    connection.endpoints[name] !== undefined
  );
  const base = endpoint && connection.endpoints[endpoint];
  if (base === undefined) {
    return { connection, good: false, finding: "has no endpoint to ask" };
  }
  try {
    const answer = await fetch(`${base}/models`, {
      headers: probeHeaders(connection, config.messagesVendor),
      redirect: "manual",
      signal: deadline(DEADLINE_MS),
    });
    discard(answer);
    return { connection, ...judge(answer.status) };
  } catch (error) {
    const reason = reasonOf(error);
    const isSafe = !secretsOf(connection).areIn(reason);
    const finding = `unreachable: ${isSafe ? reason : "unknown error"}`;
    return { connection, good: false, finding };
  }
}

function probeHeaders(connection: Connection, vendor: string): Headers {
  const { auth } = connection;
  const headers = new Headers({ accept: "application/json" });
  for (const protocol of PROTOCOLS) {
    if (connection.endpoints[protocol] === undefined) continue;
    const own = CODECS[protocol].requestHeaders(vendor);
    for (const [name, value] of own) headers.set(name, value);
  }
  if (auth.scheme === "bearer") {
    headers.set("authorization", `Bearer ${auth.key}`);
  } else if (auth.scheme === "x-api-key") {
    headers.set("x-api-key", auth.key);
  }
  for (const [name, value] of Object.entries(connection.headers)) {
    headers.set(name, value);
  }
  return headers;
}

/** Not every service lists its models: any answer but these shows that it is there and knows the key. */
function judge(status: number): Pick<Probe, "good" | "finding"> {
  const code = `HTTP ${status}`;
  if (status === 401 || status === 403) {
    return { good: false, finding: `key refused (${code})` };
  }
  if (status >= 300 && status < 400) {
    return { good: false, finding: `redirects elsewhere (${code})` };
  }
  if (status >= 500) return { good: false, finding: `failing (${code})` };
  return { good: true, finding: `reachable (${code})` };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.name === "TimeoutError") return `no answer in ${DEADLINE_MS} ms`;
  return connectionFault(error) ??
    innermostMessage(error).replace(/^error sending request .*?\): /, "");
}
