import { V8_FLAGS } from "../../release/v8_flags.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import type { Ending } from "../../src/gateway/observe/facts.ts";
import {
  memory,
  type Program,
  type StartOptions,
  startProgram,
} from "../bench/processes.ts";
import { readExposition, sumOf } from "../support/gateway/exposition.ts";
import { fromFileUrl } from "../support/program/paths.ts";
import { freePort } from "../support/program/free_port.ts";

const TOKEN = "soak-token";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

/** True when the system reports the resources of a process. */
export const hasProc = Deno.build.os === "linux";

/** A path of the gateway and a model behind it. */
export interface Way {
  readonly protocol: Protocol;
  /** The upstream's protocol. */
  readonly upstream: Protocol;
  readonly model: string;
}

/** A native way. */
export const NATIVE: Way = { protocol: "chat", upstream: "chat", model: "all" };

/** The certificate of the upstreams that speak TLS. */
export const CERTIFICATE = `${ROOT}tests/fixtures/tls/cert.pem`;

/** Every pair of protocols that the gateway serves. Each model has its own connection. */
export const WAYS: readonly Way[] = [
  NATIVE,
  { protocol: "messages", upstream: "messages", model: "all" },
  { protocol: "responses", upstream: "responses", model: "all" },
  { protocol: "messages", upstream: "messages", model: "b" },
  { protocol: "responses", upstream: "responses", model: "c" },
  { protocol: "chat", upstream: "messages", model: "b" },
  { protocol: "chat", upstream: "responses", model: "c" },
  { protocol: "messages", upstream: "chat", model: "chat-only" },
  { protocol: "responses", upstream: "chat", model: "chat-only" },
];

/**
 * Starts an upstream in its own process.
 *
 * @param name The name of its file in this folder.
 */
export function startUpstream(
  name: "upstream" | "secure_upstream" | "fragile_upstream",
  ...args: readonly string[]
): Promise<Program> {
  const path = `${ROOT}tests/soak/${name}.ts`;
  return startProgram(name.replace("_", " "), [path, ...args]);
}

/** The gateway's resources at a moment. */
export interface Use {
  /** Milliseconds since the soak began. */
  readonly atMs: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** The gateway and its upstream, each in its own process. */
export interface Scene extends AsyncDisposable {
  readonly gateway: Program;
  readonly upstreamUrl: string;
  readonly port: number;
  /** The headers with the caller's token, for every protocol. */
  readonly headers: Readonly<Record<string, string>>;
  /** The gateway's current resources; zeros when the system does not report them. */
  use(): Promise<Use>;
  /** The number of requests that the gateway counts as running. */
  inFlight(): Promise<number>;
  /** The number of requests with this ending. */
  ended(how: Ending): Promise<number>;
  /** The number of times that the gateway's timers were more than 100 ms late, because its event loop was blocked. */
  lateTimers(): Promise<number>;
  /** The upstream's open answers, and the cancellations since the last call. */
  account(): Promise<Account>;
  /** Replaces the configuration by an equivalent one, and sends SIGHUP. */
  reload(): Promise<void>;
}

/** The upstream's state. */
export interface Account {
  readonly open: number;
  /** The time of each cancellation by tag, in milliseconds since 1970. */
  readonly leftMs: Readonly<Record<string, number>>;
}

/** The limits of a scene's gateway. */
interface SceneLimits extends Pick<GatewayOptions, "maxHeapMib"> {
  /** The option `max_body_memory`, in bytes; default: the gateway's own. */
  readonly maxBodyMemory?: number;
}

/**
 * Starts the gateway and its upstream.
 *
 * @param options.maxHeapMib The limit on the gateway's heap, in MiB; default: V8's own.
 */
export async function startScene(
  { maxBodyMemory, ...options }: SceneLimits = {},
): Promise<Scene> {
  const upstream = await startUpstream("upstream");
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  const adminPort = freePort();
  let reloads = 0;
  const write = () =>
    Deno.writeTextFile(
      file,
      configText(upstream.url, { adminPort, extra: ++reloads, maxBodyMemory }),
    );
  await write();
  const gateway = await startGateway(file, options);
  return {
    gateway,
    upstreamUrl: upstream.url,
    port: Number(new URL(gateway.url).port),
    headers: {
      authorization: `Bearer ${TOKEN}`,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    },
    use: () => useOf(gateway.pid),
    inFlight: () => counted("model_gateway_requests_in_flight", {}, adminPort),
    ended: (ended) =>
      counted("model_gateway_requests_total", { ended }, adminPort),
    async lateTimers() {
      const name = "model_gateway_event_loop_lag_seconds";
      return await counted(`${name}_count`, {}, adminPort) -
        await counted(`${name}_bucket`, { le: "0.1" }, adminPort);
    },
    async account() {
      return await (await fetch(`${upstream.url}/account`)).json();
    },
    async reload() {
      await write();
      Deno.kill(gateway.pid, "SIGHUP");
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
      await Deno.remove(file);
    },
  };
}

/** The options of a gateway. */
interface GatewayOptions extends Pick<StartOptions, "env" | "maxDescriptors"> {
  /** The limit on its heap, in MiB; default: V8's own. */
  readonly maxHeapMib?: number;
}

/** The setting of the memory allocator in `packaging/`. */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "262144" };

/**
 * Starts a gateway in its own process, as the `start` task does.
 *
 * @param file The path of its configuration.
 * @param options Its environment in addition to that of the soak, and its limits.
 */
export function startGateway(
  file: string,
  { maxHeapMib, ...options }: GatewayOptions = {},
): Promise<Program> {
  const limit = maxHeapMib === undefined
    ? ""
    : `,--max-old-space-size=${maxHeapMib}`;
  const env = { ...ALLOCATOR, ...options.env };
  return startProgram("gateway", [
    V8_FLAGS + limit,
    `${ROOT}src/tools/main.ts`,
    "serve",
    "--config",
    file,
    "--port",
    "0",
  ], { ...options, env });
}

/** Returns the current resources of a process; zeros when the system does not report them. */
export async function useOf(pid: number): Promise<Use> {
  const atMs = performance.now();
  if (!hasProc) return { atMs, residentBytes: 0, descriptors: 0 };
  const residentBytes = await residentBytesOf(pid);
  let descriptors = 0;
  for await (const _ of Deno.readDir(`/proc/${pid}/fd`)) descriptors++;
  return { atMs, residentBytes, descriptors };
}

/** Returns the resident memory of a process in bytes; 0 when the system does not report it. */
export async function residentBytesOf(pid: number): Promise<number> {
  return hasProc ? (await memory(pid)).now : 0;
}

/** Returns the sum of a metric's samples with these labels. */
async function counted(
  name: string,
  labels: Readonly<Record<string, string>>,
  adminPort: number,
): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
  return sumOf(readExposition(await answer.text()), name, labels);
}

function configText(
  url: string,
  { adminPort, extra, maxBodyMemory }: {
    readonly adminPort: number;
    readonly extra: number;
    readonly maxBodyMemory: number | undefined;
  },
): string {
  const auth = { scheme: "bearer", key: "soak-key" };
  const connection = (
    name: string,
    family: string,
    endpoints: readonly Protocol[],
    suffix = "",
  ) => ({
    name: `${name}${suffix}`,
    service: "custom",
    family,
    auth,
    endpoints: Object.fromEntries(
      endpoints.map((endpoint) => [endpoint, `${url}/v1`]),
    ),
    models: [`${name}${suffix}`],
    quota: {
      kind: "json",
      url: `${url}/quota`,
      windows: [{
        type: "USAGE_LIMIT",
        unit: "requests",
        used: "/used",
        limit: "/limit",
      }],
    },
  });
  // Answers that break off have their own connection, because they make it cool down.
  const connections = ["", "-breaking"].flatMap((suffix) => [
    connection("all", "A", ["chat", "messages", "responses"], suffix),
    connection("b", "B", ["messages"], suffix),
    connection("c", "C", ["responses"], suffix),
    connection("chat-only", "A", ["chat"], suffix),
  ]);
  const token = (name: string, text: string) => ({
    name,
    sha256: sha256Hex(text),
    connections: ["*"],
    max_concurrent: 10_000,
  });
  return JSON.stringify({
    server: {
      max_concurrent_requests: 10_000,
      ...(maxBodyMemory === undefined
        ? {}
        : { max_body_memory: maxBodyMemory }),
      admin: { host: "127.0.0.1", port: adminPort },
    },
    connections,
    tokens: [token("soak", TOKEN), token(`extra-${extra}`, `extra-${extra}`)],
  });
}
