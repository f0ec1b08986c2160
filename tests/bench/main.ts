/**
 * Measures the gateway against bare proxies, side by side in one run: each round measures all of them in
 * turn, and what counts is the median of the rounds' ratios. Run it with `deno task bench`.
 */
import { sha256Hex } from "../../src/core/sha256.ts";
import { type Load, median, rate, shoot, type Shot } from "./load.ts";
import { memory, type Program, resetPeak, startProgram } from "./processes.ts";

const ROUNDS = 9;

/**
 * How often each load runs before it is measured: a gateway runs for days, its code is compiled by then. V8 goes on
 * compiling for some 20,000 requests.
 */
const WARM_UP_ROUNDS = 25;

const TOKEN = "bench-token";
const MIB = 1024 * 1024;

const here = new URL(".", import.meta.url).pathname;

const upstream = await startProgram("upstream", [`${here}upstream.ts`]);
const configFile = await Deno.makeTempFile({ suffix: ".yaml" });
await Deno.writeTextFile(configFile, gatewayConfig(upstream.url));
const direct: Program = { ...upstream, name: "no gateway" };
const bare = await startBare();
const hop = await startProgram("hop floor", [
  `${here}floor.ts`,
  "hop",
  upstream.url,
]);
const gateway = await startGateway();

try {
  console.log(`Deno ${Deno.version.deno}, ${ROUNDS} rounds, medians`);
  await compare("small JSON", {
    programs: [direct, bare, hop, gateway],
    shot: question({}),
    load: { requests: 800, concurrency: 16 },
  });
  await compare("one at a time", {
    programs: [direct, bare, hop, gateway],
    shot: question({}),
    load: { requests: 300, concurrency: 1 },
  });
  await compare("300-event SSE", {
    programs: [direct, bare, hop, gateway],
    shot: question({ "x-bench": "stream" }, true),
    load: { requests: 80, concurrency: 16 },
  });
  await compare("30 MiB body", {
    programs: [direct, bare, gateway],
    shot: question({}, false, 30 * MIB),
    load: { requests: 4, concurrency: 1 },
  });
  if (Deno.build.os === "linux") await reportMemory(30 * MIB);
} finally {
  for (const program of [gateway, hop, bare, upstream]) await program.stop();
  await Deno.remove(configFile);
}

function startBare(): Promise<Program> {
  return startProgram("bare floor", [`${here}floor.ts`, "bare", upstream.url]);
}

function startGateway(): Promise<Program> {
  return startProgram("gateway", [
    "--v8-flags=--min-semi-space-size=16,--max-semi-space-size=32",
    `${here}../../src/main.ts`,
    "serve",
    "--config",
    configFile,
    "--port",
    "0",
  ]);
}

/** Measures some programs under one load and prints each one's rate, and its ratio to each floor. */
async function compare(
  what: string,
  { programs, shot, load }: {
    readonly programs: readonly Program[];
    readonly shot: Shot;
    readonly load: Load;
  },
): Promise<void> {
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    for (const { url } of programs) await rate(url, shot, load);
  }
  const rounds: Map<Program, number>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const rates = new Map<Program, number>();
    for (const program of programs) {
      rates.set(program, await rate(program.url, shot, load));
    }
    rounds.push(rates);
  }
  const at = (rates: Map<Program, number>, program: Program) =>
    rates.get(program) ?? NaN;
  for (const program of programs) {
    const ratios = programs.filter((floor) => floor !== gateway).map((floor) =>
      `${
        median(rounds.map((rates) => at(rates, program) / at(rates, floor)))
          .toFixed(2)
      } of ${floor.name}`
    );
    const perSecond = median(rounds.map((rates) => at(rates, program)));
    console.log(
      `${what.padEnd(14)} ${program.name.padEnd(11)} ${
        perSecond.toFixed(1).padStart(8)
      }/s  ${(1000 / perSecond).toFixed(2).padStart(6)} ms each  ${
        ratios.join(", ")
      }`,
    );
  }
}

/**
 * Prints by how much big bodies raise a fresh program's resident memory, at its peak: the first, and the later
 * ones, which find room that the first has left.
 */
async function reportMemory(bytes: number): Promise<void> {
  const shot = question({}, false, bytes);
  for (const start of [startBare, startGateway]) {
    const program = await start();
    const rises: number[] = [];
    try {
      await rate(program.url, question({}), { requests: 50, concurrency: 1 });
      for (let round = 0; round < ROUNDS; round++) {
        await resetPeak(program.pid);
        const { now } = await memory(program.pid);
        await shoot(program.url, shot);
        rises.push(((await memory(program.pid)).peak - now) / bytes);
      }
    } finally {
      await program.stop();
    }
    const [first = NaN, ...later] = rises;
    console.log(
      `peak memory    ${program.name.padEnd(11)} ${
        first.toFixed(2)
      } times the body for the first one, then ${
        median(later).toFixed(2)
      } (at most ${Math.max(...later).toFixed(2)})`,
    );
  }
}

function question(
  headers: Readonly<Record<string, string>>,
  stream = false,
  bytes = 200,
): Shot {
  const body = JSON.stringify({
    model: "bench",
    stream,
    messages: [{ role: "user", content: "x".repeat(bytes) }],
  });
  return {
    // Chat bodies may have 8 MiB, those of Responses 32.
    path: bytes > MIB ? "/v1/responses" : "/v1/chat/completions",
    body: bytes > MIB ? new Blob([body]) : body,
    headers: {
      ...headers,
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
    },
  };
}

function gatewayConfig(upstreamUrl: string): string {
  return JSON.stringify({
    connections: [{
      name: "bench",
      service: "custom",
      family: "A",
      endpoints: { chat: `${upstreamUrl}/v1`, responses: `${upstreamUrl}/v1` },
      auth: { scheme: "bearer", key: "bench-key" },
      models: ["bench"],
    }],
    tokens: [{
      name: "bench",
      sha256: sha256Hex(TOKEN),
      connections: ["*"],
    }],
  });
}
