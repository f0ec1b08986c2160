/**
 * Measures how evenly a gateway on one core serves a crowd of connections, beside the lean floor.
 * The load and the upstream run on another core. Prints for each program the rate, the median and
 * the 99th percentile of the time of a request, and their quotient. Needs Linux and `taskset`.
 *
 * `deno task bench:crowd`; `--source PATH` measures the gateway of another version's `tools/main.ts`, too.
 */
import { parseArgs } from "node:util";
import { V8_FLAGS } from "../../release/v8_flags.ts";
import { startGateway, TOKEN } from "./gateway.ts";
import { median, type Shot } from "./load.ts";
import { pin, type Program, startProgram } from "./processes.ts";
import { shotFor } from "./shots.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "256" },
    rounds: { type: "string", default: "7" },
    source: { type: "string", multiple: true, default: [] },
  },
});
const connections = Number(values.connections);

/** The duration of a run, and of a program's first run, in milliseconds. */
const RUN_MS = 1_500;
const WARM_UP_MS = 6_000;

const PROGRAM_CORE = 0;
const LOAD_CORE = 1;

const here = new URL(".", import.meta.url).pathname;

/** The figures of one run. */
interface Crowd {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly lateMs: number;
}

/** Sends one request after another over each of many connections. */
async function crowd(url: string, shot: Shot, ms: number): Promise<Crowd> {
  const { hostname, port, host } = new URL(url);
  const fields = Object.entries({
    ...shot.headers,
    host,
    "content-length": String(String(shot.body).length),
  }).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const text = `POST ${shot.path} HTTP/1.1\r\n${fields}\r\n${shot.body}`;
  const message = new TextEncoder().encode(text);
  const times: number[] = [];
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      () => Deno.connect({ hostname, port: Number(port) }),
    ),
  );
  const began = performance.now();
  await Promise.all(sockets.map(async (socket) => {
    using _ = socket;
    const buffer = new Uint8Array(16_384);
    for (let sent = began; sent < began + ms; sent = performance.now()) {
      for (let at = 0; at < message.length;) {
        at += await socket.write(message.subarray(at));
      }
      await readAnswer(socket, buffer);
      times.push(performance.now() - sent);
    }
  }));
  const perSecond = times.length / ((performance.now() - began) / 1000);
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor(share * times.length)] ?? NaN;
  return { perSecond, medianMs: at(0.5), lateMs: at(0.99) };
}

const decoder = new TextDecoder();

async function readAnswer(
  socket: Deno.Conn,
  buffer: Uint8Array,
): Promise<void> {
  for (let length = 0;;) {
    const size = await socket.read(buffer.subarray(length));
    if (size === null) throw new Error("The connection was closed");
    length += size;
    const text = decoder.decode(buffer.subarray(0, length));
    const headEnd = text.indexOf("\r\n\r\n");
    if (headEnd < 0) continue;
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 200));
    const bytes = /content-length: (\d+)/i.exec(text)?.[1];
    if (length >= headEnd + 4 + Number(bytes)) return;
  }
}

await using programs = new AsyncDisposableStack();
await pin(Deno.pid, LOAD_CORE);
const upstream = programs.use(
  await startProgram("upstream", [`${here}upstream.ts`], { core: LOAD_CORE }),
);
const core = PROGRAM_CORE;
const lean = startProgram(
  "lean floor",
  [V8_FLAGS, `${here}floor.ts`, "lean", upstream.url],
  { core },
);
const entries: Program[] = [
  await lean,
  await startGateway({ name: "gateway", upstreamUrl: upstream.url, core }),
];
for (const main of values.source) {
  entries.push(
    await startGateway({ name: main, upstreamUrl: upstream.url, core, main }),
  );
}
for (const program of entries) programs.use(program);
const shot = shotFor({
  path: "/v1/chat/completions",
  model: "chat-small",
  token: TOKEN,
});
for (const { url } of entries) await crowd(url, shot, WARM_UP_MS);
const rounds: Crowd[][] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const row: Crowd[] = [];
  for (const { url } of entries) row.push(await crowd(url, shot, RUN_MS));
  rounds.push(row);
}
console.log(
  `small JSON, ${connections} connections, medians of ${rounds.length} rounds`,
);
for (const [position, { name }] of entries.entries()) {
  const of = (value: (one: Crowd, floor: Crowd) => number) =>
    median(rounds.map((row) => {
      const [floor] = row;
      const one = row[position];
      return one && floor ? value(one, floor) : NaN;
    }));
  const cells = [
    `${of((one) => one.perSecond).toFixed(0)}/s`,
    `(${of((one, floor) => one.perSecond / floor.perSecond).toFixed(2)})`,
    `p50 ${of((one) => one.medianMs).toFixed(1)} ms`,
    `p99 ${of((one) => one.lateMs).toFixed(1)} ms`,
    `(${of((one, floor) => one.lateMs / floor.lateMs).toFixed(2)})`,
    `p99/p50 ${of((one) => one.lateMs / one.medianMs).toFixed(1)}`,
  ];
  console.log(`  ${name.padEnd(20)} ${cells.join("  ")}`);
}
