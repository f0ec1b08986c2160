import type { Program } from "../bench/processes.ts";
import { connect, pause, requestText } from "./ask.ts";
import { say } from "../support/upstream/raw_upstream.ts";
import { askOthers, impactText, judgeImpact } from "./others.ts";
import { CERTIFICATE, NATIVE, startUpstream } from "./scene.ts";
import { type SharedGateway, startSharedGateway } from "./shared_gateway.ts";
import type { SoakOptions } from "./soak_options.ts";

const OTHERS = 1_000;

/** The upstream's response time, in milliseconds. About sixty requests are then in flight. */
const UPSTREAM_MS = 300;

/**
 * The number of callers that stop reading. Three were once enough to block everyone on the same
 * HTTP/2 connection.
 */
const STALLED = 20;

/**
 * The time that their streams run before the other requests, in milliseconds, until every buffer on
 * the way is full.
 */
const FILLING_MS = 2_000;

/** The gateway's timeout for a silent upstream, in milliseconds. */
const FIRST_BYTE_MS = 2_000;

/** The number of kept connections that go silent at once. */
const LOST = 40;

/** The two addresses of the upstream, each with a gateway before it. */
interface Net {
  readonly gateway: SharedGateway;
  /**
   * Reports the state of the upstream. A POST silently breaks its connections, at the hop in front
   * of it.
   */
  readonly controlUrl: string;
}

/**
 * Tests an upstream with TLS and HTTP/2, whose connections must not make callers wait for each
 * other.
 */
export async function soakConnections(options: SoakOptions): Promise<void> {
  await using upstream = await startUpstream(
    "secure_upstream",
    String(UPSTREAM_MS),
  );
  const { url, hopUrl } = await readState(upstream.url);
  await measure("few streams on a connection", url, upstream, options);
  await measure(
    `${STALLED} callers that stop reading`,
    url,
    upstream,
    options,
    stall,
  );
  await measure(
    `a pool of ${LOST} connections that falls silent`,
    hopUrl,
    upstream,
    options,
    lose,
  );
  const { versions } = await readState(upstream.url);
  options.findings.note(
    "  HTTP versions of the upstream's requests",
    versions.join(", "),
  );
}

/** A burden that holds its resources until the other requests end. */
interface Burden extends Disposable {
  /** The number of other requests that may be late. */
  readonly mayBeLate: number;
}

/**
 * Notes the effect of a burden on other requests. The burden begins before them and ends after
 * them.
 */
async function measure(
  what: string,
  url: string,
  upstream: Program,
  { findings, effort }: SoakOptions,
  burden?: (net: Net) => Promise<Burden>,
): Promise<void> {
  await using gateway = await startSharedGateway({
    url,
    tokens: ["burden", "other"],
    timeouts: { first_byte: FIRST_BYTE_MS },
    env: { DENO_CERT: CERTIFICATE },
  });
  using active = await burden?.({ gateway, controlUrl: upstream.url });
  const impact = await askOthers({
    url: gateway.program.url,
    headers: () => gateway.headersOf("other"),
    count: Math.ceil(OTHERS * effort),
    upstreamMs: UPSTREAM_MS,
  });
  findings.note(what, impactText(impact));
  judgeImpact(what, impact, findings, active?.mayBeLate);
}

/** Requests endless streams, reads the beginning of each, and stops reading. */
async function stall({ gateway }: Net): Promise<Burden> {
  const stalled = await Promise.all(
    Array.from({ length: STALLED }, async (_, index) => {
      const tag = `s${index}`;
      const question = { tag, behaviour: "flood", words: 2 } as const;
      const headers = gateway.headersOf("burden");
      const connection = await connect(gateway);
      const asking = { way: NATIVE, question, isStream: true };
      await say(connection, requestText(asking, { headers }));
      const head = new Uint8Array(12);
      await connection.read(head);
      const text = new TextDecoder().decode(head);
      if (text !== "HTTP/1.1 200") {
        throw new Error(`A stream began with ${text}`);
      }
      return connection;
    }),
  );
  await pause(FILLING_MS);
  return {
    mayBeLate: 0,
    [Symbol.dispose]: () => stalled.forEach((connection) => connection.close()),
  };
}

/** Makes the gateway open connections, and breaks them all. */
async function lose({ gateway, controlUrl }: Net): Promise<Burden> {
  const { refused } = await askOthers({
    url: gateway.program.url,
    headers: () => gateway.headersOf("other"),
    count: LOST,
  });
  if (refused.length > 0) {
    throw new Error(`A first request failed: ${refused[0]}`);
  }
  await readState(controlUrl, "POST");
  // Each request on a lost connection waits for the gateway's timeout.
  return { mayBeLate: LOST, [Symbol.dispose]() {} };
}

interface UpstreamState {
  readonly url: string;
  readonly hopUrl: string;
  /** The HTTP versions of all requests so far. */
  readonly versions: readonly string[];
}

async function readState(
  controlUrl: string,
  method = "GET",
): Promise<UpstreamState> {
  return await (await fetch(controlUrl, { method })).json();
}
