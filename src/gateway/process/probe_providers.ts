import { PROTOCOLS } from "@gateway/base/protocol";
import { discard } from "@gateway/base/streams/byte_reader";
import { systemClock } from "@gateway/base/time/timers";
import { CODECS } from "@gateway/codecs";
import type {
  AlertsConfig,
  Config,
  Connection,
  IdentityProvider,
} from "../config/config.ts";
import { postAlert } from "../usage/alert_sender.ts";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { credentialHeader } from "../config/credential.ts";
import { readKeys, Unread } from "../relay/identity/key_sets.ts";
import { signatureOf } from "../upstream/aws_signature.ts";
import type { Fetch } from "../upstream/call.ts";
import { createFetchClient } from "../upstream/fetch_client.ts";
import { secretsOf } from "../upstream/secrets.ts";
import { type FileResult, loadConfigFile } from "./config_file.ts";
import { openTokenBook } from "./token_book.ts";

/** Reads a configuration file as {@linkcode loadConfigFile} does, and runs its token exchanges. */
export async function loadWithTokens(
  path: string,
  { env, fetch }: {
    readonly env: (name: string) => string | undefined;
    readonly fetch: Fetch;
  },
): Promise<FileResult> {
  const book = openTokenBook({
    path,
    client: createFetchClient(fetch),
    // Nothing is logged here: the warnings of the configuration contain the reason.
    log: { write() {} },
    onChange() {},
  });
  const result = await loadConfigFile(path, { env, tokenFor: book.tokenFor });
  book.retain([]);
  return result;
}

/** The result of one cheap authenticated request to a provider. */
interface ProviderProbe {
  /** The name of the connection, or the issuer of the identity provider. */
  readonly name: string;
  readonly good: boolean;
  /** One line for people, without any secret. */
  readonly finding: string;
}

interface ProbeOptions {
  readonly fetch: Fetch;
  /** Starts the timeout of one request. */
  readonly deadline: () => AbortSignal;
  /** Describes the error of a failed request for people. */
  readonly reasonOf: (error: unknown) => string;
}

/**
 * Requests the models of all enabled connections, reads the keys of the identity providers, and sends a test to the
 * receiver of alerts, all at once.
 *
 * @returns The results in the order of the file.
 */
export async function probeProviders(
  config: Config,
  options: ProbeOptions,
): Promise<readonly ProviderProbe[]> {
  return await Promise.all([
    ...config.connections.filter(({ enabled }) => enabled)
      .map((connection) => probe(connection, { ...options, config })),
    ...config.identity.map((one) => probeKeys(one, options)),
    ...config.alerts === undefined ? [] : [probeAlerts(config.alerts, options)],
  ]);
}

/** Sends a test to the receiver of alerts. */
async function probeAlerts(
  alerts: AlertsConfig,
  { fetch }: ProbeOptions,
): Promise<ProviderProbe> {
  const fault = await postAlert(
    {
      text: "This is a test of model-gateway check. Alerts arrive here.",
      kind: "test",
    },
    alerts,
    { client: createFetchClient(fetch), deadlines: createDeadlines() },
  );
  return {
    name: "alerts",
    good: fault === undefined,
    finding: fault === undefined ? "a test was accepted" : fault.reason,
  };
}

/** Reads the keys of an identity provider. */
async function probeKeys(
  provider: IdentityProvider,
  { fetch, deadline, reasonOf }: ProbeOptions,
): Promise<ProviderProbe> {
  const { issuer: name } = provider;
  const signal = deadline();
  try {
    const { length } = await readKeys(provider, { fetch, signal });
    return {
      name,
      good: true,
      finding: `${length} key${length === 1 ? "" : "s"}`,
    };
  } catch (error) {
    const reason = error instanceof Unread ? error.message : reasonOf(error);
    return { name, good: false, finding: `no keys: ${reason}` };
  }
}

async function probe(
  connection: Connection,
  { fetch, deadline, reasonOf, config }: ProbeOptions & {
    readonly config: Config;
  },
): Promise<ProviderProbe> {
  const { name, auth } = connection;
  if (auth.scheme !== "none" && auth.key === "") {
    return { name, good: false, finding: "its token exchange gave no token" };
  }
  const life = auth.scheme === "none" || auth.expiresAtMs === undefined
    ? ""
    : `a token for ${
      Math.round((auth.expiresAtMs - systemClock.now()) / 60_000)
    } min, `;
  const endpoint = PROTOCOLS.find((protocol) =>
    connection.endpoints[protocol] !== undefined
  );
  const base = endpoint && connection.endpoints[endpoint];
  if (base === undefined) {
    return { name, good: false, finding: "no endpoint is configured" };
  }
  try {
    const url = `${base}/models`;
    const headers = [...probeHeaders(connection, config.messagesVendor)];
    const sign = signatureOf(connection, systemClock);
    const answer = await fetch(url, {
      headers: sign ? await sign({ method: "GET", url, headers }) : headers,
      redirect: "manual",
      signal: deadline(),
    });
    discard(answer);
    const { good, finding } = judge(answer.status);
    return { name, good, finding: life + finding };
  } catch (error) {
    const reason = reasonOf(error);
    const isSafe = !secretsOf(connection).areIn(reason);
    const finding = `unreachable: ${isSafe ? reason : "unknown error"}`;
    return { name, good: false, finding };
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
  const credential = credentialHeader(auth);
  if (credential !== undefined) headers.set(...credential);
  for (const [name, value] of Object.entries(connection.headers)) {
    headers.set(name, value);
  }
  return headers;
}

/** Judges a response's status. A status like 404 is good: such a service lists no models, but has accepted the key. */
function judge(status: number): Pick<ProviderProbe, "good" | "finding"> {
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
