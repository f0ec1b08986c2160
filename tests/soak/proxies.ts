import { listenToEnd } from "../support/upstream/raw_upstream.ts";
import { startScriptedProxy } from "../support/upstream/scripted_proxy.ts";
import { startSecureHop } from "../support/upstream/secure_hop.ts";
import { startSocksProxy } from "../support/upstream/socks_proxy.ts";
import { join, startTcpServer } from "../support/upstream/tcp_server.ts";
import { until } from "../support/within.ts";
import { pause } from "./ask.ts";
import { sizeText } from "./findings.ts";
import { askOthers, type Impact, impactText, judgeImpact } from "./others.ts";
import { shortnessOf } from "./plan.ts";
import {
  CERTIFICATE,
  hasProc,
  residentBytesOf,
  startUpstream,
  useOf,
} from "./scene.ts";
import {
  type SharedGateway,
  type SharedGatewayOptions,
  startSharedGateway,
} from "./shared_gateway.ts";
import type { SoakOptions } from "./soak_options.ts";

const ROUNDS = 5;
const REQUESTS = 400;

/** The longest wait for a connection, in milliseconds. */
const CONNECT_MS = 1_000;

/** The number of requests that must succeed together when the handshakes no longer hang. */
const AGAIN = 20;

/** Longer than the gateway keeps an idle connection, in milliseconds. */
const IDLE_MS = 32_000;

/** The most descriptors that may stay open. At most eight belong to unanswered handshakes. */
const MAX_LEFT = 16;

/** The most memory by which the last round may exceed the first, in bytes. */
const MAX_GROWTH_BYTES = 60 * 1024 * 1024;

const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

/** A proxy of this process. */
interface Proxy extends AsyncDisposable {
  /** The proxy's URL for the environment. */
  readonly address: string;
}

/** Starts a proxy of each kind that leads to a port of this machine. */
const PROXIES: Readonly<Record<string, (port: number) => Proxy>> = {
  "an HTTP proxy": (port) => {
    const proxy = startScriptedProxy(ESTABLISHED, port);
    return {
      address: `http://127.0.0.1:${proxy.port}`,
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    };
  },
  "a proxy that speaks TLS": (port) => {
    const proxy = startScriptedProxy(ESTABLISHED, port);
    const hop = startSecureHop(proxy.port);
    return {
      address: `https://127.0.0.1:${hop.port}`,
      async [Symbol.asyncDispose]() {
        await hop[Symbol.asyncDispose]();
        await proxy[Symbol.asyncDispose]();
      },
    };
  },
  "a SOCKS proxy": (port) => {
    const proxy = startSocksProxy({ tunnelTo: port });
    return {
      address: `socks5h://127.0.0.1:${proxy.port}`,
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    };
  },
};

/** A gateway that serves requests, with its measured resources. */
interface Run {
  readonly what: string;
  readonly gateway: SharedGateway;
  /** The callers' connections. */
  readonly client: Deno.HttpClient;
  /** Its descriptors before the first request. */
  readonly descriptors: number;
  /** Its memory after each round, in bytes. */
  readonly bytes: number[];
}

/** Sends requests through a proxy of each kind, and to a server that leaves handshakes unanswered. */
export async function soakProxies(options: SoakOptions): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream("secure_upstream"));
  const { url } = await (await fetch(upstream.url)).json();
  const port = Number(new URL(url).port);

  async function start(
    what: string,
    gatewayOptions: Partial<SharedGatewayOptions>,
  ): Promise<Run> {
    const gateway = stack.use(
      await startSharedGateway({ url, tokens: ["other"], ...gatewayOptions }),
    );
    const { descriptors } = await useOf(gateway.program.pid);
    const client = Deno.createHttpClient({});
    return { what, gateway, client, descriptors, bytes: [] };
  }

  const runs: Run[] = [];
  for (const [name, startProxy] of Object.entries(PROXIES)) {
    const { address } = stack.use(startProxy(port));
    const env = { DENO_CERT: CERTIFICATE, ALL_PROXY: address };
    const run = await start(`${ROUNDS} rounds through ${name}`, { env });
    runs.push(run);
    for (let round = 0; round < ROUNDS; round++) {
      const impact = await sendAll(run, REQUESTS * options.effort);
      judgeImpact(`requests through ${name}`, impact, options.findings);
    }
    run.client.close();
  }
  const hop = stack.use(startHangingHop(port));
  const run = await start("handshakes that hang", {
    url: `https://127.0.0.1:${hop.port}`,
    timeouts: { connect: CONNECT_MS },
    env: { DENO_CERT: CERTIFICATE },
  });
  runs.push(run);
  await soakHandshakes(run, hop, options);
  run.client.close();
  await pause(IDLE_MS);
  for (const one of runs) await judgeUse(one, options);
}

/** Makes every second handshake hang for a while, and then all. */
async function soakHandshakes(
  run: Run,
  hop: HangingHop,
  { findings, effort }: SoakOptions,
): Promise<void> {
  await sendAll(run, REQUESTS * effort);
  for (const [name, share] of [["half of", 1 / 2], ["all", 1]] as const) {
    hop.hang(share);
    const impact = await sendAll(run, REQUESTS * effort);
    findings.note(`while ${name} the handshakes hang`, impactText(impact));
    hop.hang(0);
    await until(
      async () => (await sendAll(run, AGAIN)).refused.length === 0,
      "the gateway to serve again",
    );
  }
}

async function sendAll(
  { gateway: { program, headersOf }, client, bytes }: Run,
  count: number,
): Promise<Impact> {
  const impact = await askOthers({
    url: program.url,
    headers: () => headersOf("other"),
    count: Math.ceil(count),
    client,
  });
  bytes.push(await residentBytesOf(program.pid));
  return impact;
}

/** A hop that can leave TLS handshakes unanswered. */
interface HangingHop extends AsyncDisposable {
  readonly port: number;
  /** Closes all connections. From now on, this share of the new ones is never answered. */
  hang(share: number): void;
}

function startHangingHop(port: number): HangingHop {
  let accepted = 0;
  let hanging = 0;
  const server = startTcpServer(async (near) => {
    const hangs = Math.floor(hanging * (accepted + 1)) >
      Math.floor(hanging * accepted);
    accepted++;
    await (hangs ? listenToEnd(near) : join(near, port));
  });
  return {
    port: server.port,
    hang(share) {
      hanging = share;
      server.closeAll();
    },
    async [Symbol.asyncDispose]() {
      server.closeAll();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Judges the open descriptors after all requests, and the growth of the memory after the first round. */
async function judgeUse(
  { what, gateway, descriptors, bytes }: Run,
  { findings, effort }: SoakOptions,
): Promise<void> {
  if (!hasProc) return;
  const { descriptors: left } = await useOf(gateway.program.pid);
  const [first = 0] = bytes;
  const last = bytes.at(-1) ?? 0;
  findings.note(
    what,
    `${descriptors} descriptors before, ${left} after; memory ${
      sizeText(first)
    } after the first round, ${sizeText(last)} after the last`,
  );
  if (left > descriptors + MAX_LEFT) {
    findings.fail(`${what} leave ${left - descriptors} descriptors open`);
  }
  if (last - first > MAX_GROWTH_BYTES) {
    findings.exceed(
      `${what} make the memory grow by ${sizeText(last - first)}`,
      shortnessOf({ effort }),
    );
  }
}
