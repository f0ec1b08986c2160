import { V8_FLAGS } from "../../release/v8_flags.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { type Program, startProgram } from "./processes.ts";

/** The caller's token at the gateway of the benchmark. */
export const TOKEN = "bench-token";

/** The setup of a gateway. */
export interface GatewayOptions {
  readonly name: string;
  readonly upstreamUrl: string;
  readonly workers?: number;
  /** True to give models prices, and the caller and its group limits that no benchmark reaches. */
  readonly hasLimits?: boolean;
  /** The URL of a Valkey or Redis server that shares the counts. */
  readonly storeUrl?: string;
  /** A PEM file with the authority of the upstream's certificate. */
  readonly caFile?: string;
  /** The core that it may use; default: any. */
  readonly core?: number;
  /** The path of another version's `tools/main.ts`; default: this one's. */
  readonly main?: string;
}

/**
 * Starts this program before the benchmark's upstream. The model `chat-small` belongs to a
 * connection with Chat Completions and Responses that streams its events one by one.
 * `messages-large` belongs to one with Messages that streams several events per chunk, and so on.
 */
export async function startGateway(options: GatewayOptions): Promise<Program> {
  const { name, caFile, core } = options;
  const {
    main = new URL("../../src/tools/main.ts", import.meta.url).pathname,
  } = options;
  const configFile = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(configFile, configText(options));
  const program = await startProgram(name, [
    V8_FLAGS,
    main,
    "serve",
    "--config",
    configFile,
    "--port",
    "0",
  ], { core, ...caFile === undefined ? {} : { env: { DENO_CERT: caFile } } });
  return {
    ...program,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await Deno.remove(configFile);
    },
  };
}

/** Limits that no benchmark reaches. */
const LIMITS = [
  { window: "minute", requests: 1_000_000_000 },
  { window: "day", tokens: 1_000_000_000_000 },
  { window: "week", cost: 1_000_000 },
];

/** The kinds of answers of the upstream, each with its own path. */
const PIECES = ["small", "large", "paced", "turn", "long1", "long30"];

function configText(
  { upstreamUrl, workers = 1, hasLimits = false, storeUrl }: GatewayOptions,
): string {
  const price = hasLimits ? { price: { input: 1, output: 5 } } : {};
  const connections = PIECES.flatMap((pieces) => {
    const base = `${upstreamUrl}/${pieces}/v1`;
    const auth = { scheme: "bearer", key: "bench-key" };
    return [{
      name: `chat-${pieces}`,
      service: "custom",
      family: "A",
      endpoints: { chat: base, responses: base },
      auth,
      models: [{ id: `chat-${pieces}`, ...price }],
    }, {
      name: `messages-${pieces}`,
      service: "custom",
      family: "B",
      endpoints: { messages: base },
      auth,
      models: [{ id: `messages-${pieces}`, ...price }],
    }, {
      name: `chat-only-${pieces}`,
      service: "custom",
      family: "A",
      endpoints: { chat: base },
      auth,
      models: [{ id: `chat-only-${pieces}`, ...price }],
    }];
  });
  return JSON.stringify({
    server: { workers },
    ...(storeUrl === undefined ? {} : { shared: { url: storeUrl } }),
    connections,
    ...(hasLimits ? { groups: { all: { limits: LIMITS } } } : {}),
    tokens: [{
      name: "bench",
      sha256: sha256Hex(TOKEN),
      connections: ["*"],
      max_concurrent: 1024,
      ...(hasLimits ? { group: "all", limits: LIMITS } : {}),
    }],
  });
}
