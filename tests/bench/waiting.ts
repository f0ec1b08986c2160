/**
 * Measures the memory of a thousand requests: waiting in the queue, waiting for a silent provider, or held by the
 * platform without a gateway. Run it with `deno task bench:waiting [BYTES]`; a body has 1000 bytes by default.
 */
import { createGateway } from "../../src/gateway/app.ts";
import { createLiveConfig } from "../../src/gateway/config/live_config.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { connectionFile, minimalConfig } from "../support/gateway/config.ts";
import { ask, credentials, hello } from "../support/wire/ask.ts";

const REQUESTS = 1_000;

/** The number of tokens, since no more than a hundred requests of each may wait. */
const TOKENS = 20;

/** The connection of each kind of request; absent for those without a gateway. */
const KINDS = {
  "held by the platform": undefined,
  "to a silent provider": {},
  "in the queue": { max_concurrent: 1, queue: { max_wait: 600_000 } },
};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until a condition holds, and then until the gateway watches for callers that leave. */
async function settle(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(50);
  await pause(3_500);
}

async function memory(): Promise<Deno.MemoryUsage> {
  const collect: unknown = Reflect.get(globalThis, "gc");
  for (let round = 0; round < 4; round++) {
    if (typeof collect === "function") collect();
    await pause(100);
  }
  return Deno.memoryUsage();
}

async function openGateway(connection: Readonly<Record<string, unknown>>) {
  const config = await minimalConfig({
    timeouts: { first_byte: 0 },
    connections: [connectionFile(connection)],
    tokens: Array.from({ length: TOKENS }, (_, index) => ({
      name: `token ${index}`,
      sha256: sha256Hex(`mg_${index}`),
      connections: ["*"],
      max_concurrent: REQUESTS,
    })),
  });
  return createGateway({
    liveConfig: createLiveConfig(config),
    fetch: (_, init) =>
      new Promise((_, reject) => {
        const signal = init?.signal;
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
    log: { write() {} },
  });
}

async function measure(kind: keyof typeof KINDS, bytes: number) {
  let gateway = await openGateway(KINDS[kind] ?? {});
  let requests: Request[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      requests.push(request);
      return KINDS[kind] === undefined
        ? new Promise(() => {})
        : gateway.handler(request);
    },
  );
  const sendAll = async () => {
    requests = [];
    const running = gateway.handler(
      new Request(
        "http://gateway.example/v1/chat/completions",
        ask("chat", hello("chat"), credentials("chat", "mg_0")),
      ),
    );
    const before = await memory();
    const client = startClient(server.addr.port, bytes);
    await settle(() => requests.length >= REQUESTS);
    requests = Array(REQUESTS);
    const after = await memory();
    client.kill();
    await client.status;
    const { waiting } = gateway.state();
    gateway.admission.cut();
    await running;
    await settle(() => gateway.admission.active === 0);
    return { before, after, waiting };
  };
  // The first requests compile the program.
  await sendAll();
  // A new gateway does not know their durations, and so refuses no request.
  gateway = await openGateway(KINDS[kind] ?? {});
  const { before, after, waiting } = await sendAll();
  const size = (name: "heapUsed" | "external" | "rss") =>
    `${((after[name] - before[name]) / 1e6).toFixed(1)} MB`;
  console.log(
    `${kind}: heap ${size("heapUsed")}, external ${
      size("external")
    }, resident ${size("rss")}, ${waiting} waiting`,
  );
}

function startClient(port: number, bytes: number): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-check", "--allow-net", "--lock=tests/deno.lock"],
      ...[import.meta.filename ?? "", String(bytes), String(port)],
    ],
    stdin: "null",
    stdout: "null",
  }).spawn();
}

/** Sends each request over a connection of its own, with the headers of an agent, and reads nothing. */
async function send(port: number, bytes: number): Promise<void> {
  const body = JSON.stringify({
    model: "model-a",
    messages: [{ role: "user", content: "x".repeat(bytes) }],
  });
  const connections: Deno.TcpConn[] = [];
  for (let index = 0; index < REQUESTS; index++) {
    const lines = [
      "POST /v1/chat/completions HTTP/1.1",
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer mg_${index % TOKENS}`,
      "user-agent: claude-cli/2.1.0 (external, cli)",
      "accept: application/json",
      "content-type: application/json",
      "anthropic-version: 2023-06-01",
      "x-app: cli",
      "x-stainless-lang: js",
      "x-stainless-package-version: 0.60.0",
      "x-stainless-os: Linux",
      "x-stainless-arch: x64",
      "x-stainless-runtime: node",
      `x-claude-code-session-id: 5f0c1d7e-0000-4000-8000-${index}`,
      `content-length: ${body.length}`,
    ];
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const text = `${lines.join("\r\n")}\r\n\r\n${body}`;
    await connection.write(new TextEncoder().encode(text));
    connections.push(connection);
  }
  await pause(600_000);
}

const [bytes = 1_000, port] = Deno.args.map(Number);
if (port !== undefined) await send(port, bytes);
for (
  const kind of [
    "held by the platform",
    "to a silent provider",
    "in the queue",
  ] as const
) {
  await measure(kind, bytes);
}
Deno.exit(0);
