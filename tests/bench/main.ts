/**
 * Measures the gateway against bare proxies, side by side in one run. Each round measures all of
 * them in turn, and the result is the median of the rounds' ratios to the first row. Run it with
 * `deno task bench`.
 *
 * `--only NAME` runs the parts whose names contain that text. `--rounds N` and `--warm-up N` set
 * the number of runs of each load, of 0.3 s for each program. `--against URL` with `--token TOKEN`
 * measures another gateway as well. It must serve the models that `gateway.ts` names, from the
 * upstream whose address is printed.
 */
import { V8_FLAGS } from "../../release/v8_flags.ts";
import { compare, type Comparison, type Entry } from "./compare.ts";
import { startGateway, TOKEN } from "./gateway.ts";
import { reportMemory, reportShapes } from "./memory.ts";
import { readOptions } from "./options.ts";
import { type PacedEntry, reportPaced } from "./paced.ts";
import { type Program, startProgram } from "./processes.ts";
import { type Asked, shotFor } from "./shots.ts";
import {
  startStoreServer,
  storeProgram,
} from "../support/program/store_server.ts";
import { reportTurns, type TurnEntry } from "./turns.ts";
import { reportUsage } from "./usage.ts";

const { only, rounds, against, token: otherToken } = readOptions(Deno.args);

const MIB = 1024 * 1024;
const here = new URL(".", import.meta.url).pathname;
const certificate = new URL("../fixtures/tls/", import.meta.url).pathname;

await using programs = new AsyncDisposableStack();

async function started(program: Promise<Program>): Promise<Program> {
  return programs.use(await program);
}

const floor = (mode: string, upstream: Program) =>
  started(
    startProgram(`${mode} floor`, [
      V8_FLAGS,
      `${here}floor.ts`,
      mode,
      upstream.url,
    ]),
  );

const upstream = await started(
  startProgram("no gateway", [`${here}upstream.ts`]),
);
const lean = await floor("lean", upstream);
const leanTranslator = await floor("lean-translate", upstream);
const bare = await floor("bare", upstream);
const honest = await floor("honest", upstream);
const hop = await floor("hop", upstream);
const translator = await floor("translate", upstream);
const behind = (
  name: string,
  options: Partial<Parameters<typeof startGateway>[0]> = {},
) => started(startGateway({ name, upstreamUrl: upstream.url, ...options }));

const gateway = await behind("gateway");
const threads = await behind("gateway, 2 workers", { workers: 2 });
const limited = await behind("gateway, with limits", { hasLimits: true });
const limitedThreads = await behind("gateway, 2 workers, with limits", {
  workers: 2,
  hasLimits: true,
});
/** Only with an installed Valkey or Redis server. */
const store = storeProgram === undefined
  ? undefined
  : programs.use(await startStoreServer());
const stored = await Promise.all(
  (store === undefined ? [] : [false, true]).map((hasLimits) =>
    behind(`gateway, ${hasLimits ? "with limits and" : "with"} a store`, {
      hasLimits,
      ...(store === undefined ? {} : { storeUrl: store.url }),
    })
  ),
);

/** Another gateway, if the command line names one. */
const other: Program | undefined = against === undefined ? undefined : {
  name: "the other gateway",
  url: against.replace(/\/$/, ""),
  pid: NaN,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function entry(program: Program, asked: Omit<Asked, "token">): Entry {
  const token = program === other ? otherToken ?? TOKEN : TOKEN;
  return { program, shot: shotFor({ ...asked, token }) };
}

/** Returns entries with the same request for several programs, and for the other gateway. */
function all(
  some: readonly Program[],
  asked: Omit<Asked, "token">,
): readonly Entry[] {
  const asking = other === undefined ? some : [...some, other];
  return asking.map((program) => entry(program, asked));
}

const chat = { path: "/v1/chat/completions", model: "chat-small" } as const;

/** The number of streams at a time. */
const STREAMS = 16;

/** The two directions of a translation, each with its request. */
const TRANSLATIONS = [
  ["Messages to Chat", "/v1/messages", "chat-only"],
  ["Chat to Messages", "/v1/chat/completions", "messages"],
] as const;

/** Compares a translation with the floors, and with the gateway's native requests. */
function translation(
  [title, path, model]: typeof TRANSLATIONS[number],
  stream?: "small" | "large",
): Comparison {
  const size = stream ?? "small";
  const native = { ...chat, model: `chat-${size}`, stream };
  return {
    title: `${title}, ${
      stream === undefined ? "JSON" : `SSE in ${stream} chunks`
    }`,
    entries: [
      ...all([leanTranslator, translator, gateway], {
        path,
        model: `${model}-${size}`,
        stream,
      }),
      { ...entry(gateway, native), name: "gateway, native Chat" },
    ],
    concurrency: stream === undefined ? 32 : STREAMS,
  };
}

const comparisons: readonly Comparison[] = [
  ...[32, 1].map((concurrency) => ({
    title: "small JSON",
    entries: all([lean, bare, honest, hop, upstream, gateway], chat),
    concurrency,
  })),
  ...(["small", "large"] as const).map((stream) => ({
    title: `SSE of 300 events in ${stream} chunks`,
    entries: all([lean, hop, bare, honest, gateway], {
      ...chat,
      model: `chat-${stream}`,
      stream,
    }),
    concurrency: STREAMS,
  })),
  ...TRANSLATIONS.map((one) => translation(one)),
  ...(["small", "large"] as const).flatMap((stream) =>
    TRANSLATIONS.map((one) => translation(one, stream))
  ),
  {
    title: "two workers, small JSON",
    entries: all([gateway, threads], chat),
    concurrency: 32,
  },
  {
    title: "token limits, small JSON",
    entries: all([gateway, limited], chat),
    concurrency: 32,
  },
  {
    title: "two workers with token limits, small JSON",
    entries: all([threads, limitedThreads], chat),
    concurrency: 32,
  },
  ...[32, 1].map((concurrency) => ({
    title: "a store, small JSON",
    entries: all([gateway, limited, ...stored], chat),
    concurrency,
  })),
  {
    title: "token limits, SSE of 300 events in small chunks",
    entries: all([gateway, limited], { ...chat, stream: "small" }),
    concurrency: STREAMS,
  },
  ...[10_000, 100_000, 400_000, 1_000_000].map((promptBytes) => ({
    title: `a request of ${promptBytes / 1000} KB`,
    entries: [
      ...all([lean, bare, upstream, gateway], { ...chat, promptBytes }),
      {
        ...entry(gateway, {
          path: "/v1/messages",
          model: "chat-only-small",
          promptBytes,
        }),
        name: "gateway, translated",
      },
    ],
    direct: upstream,
    concurrency: 1,
  })),
  {
    title: "30 MiB body",
    entries: all([honest, bare, gateway], {
      path: "/v1/responses",
      model: "chat-small",
      promptBytes: 30 * MIB,
    }),
    concurrency: 1,
  },
];

async function overTls(): Promise<void> {
  const secure = await started(
    startProgram("no gateway", [
      `${here}upstream.ts`,
      `${certificate}cert.pem`,
      `${certificate}key.pem`,
    ], { scheme: "https" }),
  );
  const caFile = `${certificate}cert.pem`;
  const upstreamUrl = secure.url.replace("127.0.0.1", "localhost");
  const floor = await started(
    startProgram("bare floor, TLS", [
      V8_FLAGS,
      `${here}floor.ts`,
      "bare",
      upstreamUrl,
    ], { env: { DENO_CERT: caFile } }),
  );
  const gatewayOverTls = await started(
    startGateway({ name: "gateway, TLS", upstreamUrl, caFile }),
  );
  for (const concurrency of [32, 1]) {
    await compare({
      title: "small JSON from an upstream behind TLS",
      entries: [entry(floor, chat), entry(gatewayOverTls, chat)],
      concurrency,
    }, rounds);
  }
}

/** The rounds of paced streams, of some 3.5 s for each program. */
const PACED_ROUNDS = { warmUp: 3, measured: 5 };

function pacedEntries(): readonly PacedEntry[] {
  const asked = { ...chat, model: "chat-paced", stream: "paced" } as const;
  const direct = entry(upstream, asked);
  const entries: readonly Entry[] = [
    { ...direct, shot: { ...direct.shot, path: `/paced${direct.shot.path}` } },
    ...all([lean, bare, hop, gateway], asked),
    ...[leanTranslator, gateway].map((program) => ({
      ...entry(program, {
        path: "/v1/messages",
        model: "chat-only-paced",
        stream: "paced",
      }),
      name: `${program.name}, Messages to Chat`,
    })),
  ];
  return entries.map((one) => ({ name: one.program.name, ...one }));
}

/** The rounds of agents' sessions, of some 12 s for each program. */
const TURN_ROUNDS = { warmUp: 1, measured: 3 };

/** The two agents, with the path that each calls and the models of a native and a translated session. */
const AGENTS = [
  ["turns of Claude Code", "/v1/messages", "messages-turn"],
  ["turns of Codex", "/v1/responses", "chat-turn"],
] as const;

function turnEntries(
  [, path, model]: typeof AGENTS[number],
): readonly TurnEntry[] {
  const asked = { path, model, token: TOKEN } as const;
  const direct = { ...upstream, url: `${upstream.url}/turn` };
  return [
    { ...asked, name: upstream.name, program: direct },
    { ...asked, name: lean.name, program: lean },
    { ...asked, name: "gateway", program: gateway },
    {
      ...asked,
      name: "gateway, to Chat",
      program: gateway,
      model: "chat-only-turn",
    },
  ];
}

function isWanted(title: string): boolean {
  return title.includes(only);
}

console.log(
  `Deno ${Deno.version.deno}, medians of ${rounds.measured} rounds; in brackets: times the first row. The floors run with the gateway's V8 flags.`,
);
if (other !== undefined) console.log(`the upstream is ${upstream.url}`);
for (const comparison of comparisons) {
  if (isWanted(comparison.title)) await compare(comparison, rounds);
}
if (isWanted("small JSON from an upstream behind TLS")) await overTls();
if (isWanted("paced streams")) {
  await reportPaced(pacedEntries(), PACED_ROUNDS);
}
for (const agent of Deno.build.os === "linux" ? AGENTS : []) {
  const [title] = agent;
  if (!isWanted(title)) continue;
  await reportTurns(title, turnEntries(agent), TURN_ROUNDS);
}
if (Deno.build.os === "linux" && isWanted("memory by shape")) {
  await reportShapes(upstream, TOKEN);
}
if (Deno.build.os === "linux" && isWanted("memory")) {
  await reportMemory({
    upstream,
    shot: entry(gateway, {
      path: "/v1/responses",
      model: "chat-small",
      promptBytes: 30 * MIB,
    }).shot,
    bytes: 30 * MIB,
    rounds: rounds.measured,
  });
}
if (Deno.build.os === "linux" && isWanted("usage")) await reportUsage();
