import { V8_FLAGS } from "../../release/v8_flags.ts";
import { sha256Hex } from "../../src/core/sha256.ts";
import { type Program, startProgram } from "./processes.ts";

/** What the gateway of the benchmark knows its caller by. */
export const TOKEN = "bench-token";

/** How a gateway is set up. */
export interface GatewayOptions {
  readonly name: string;
  readonly upstreamUrl: string;
  readonly workers?: number;
  /** Whether models have prices and the caller and its group have limits, all far away. */
  readonly hasLimits?: boolean;
  /** Of a Valkey or Redis server that counts are shared by. */
  readonly storeUrl?: string;
  /** A PEM file that the upstream's certificate is vouched for by. */
  readonly caFile?: string;
}

/**
 * Starts this program before the benchmark's upstream. Model `chat-small` is of a connection that speaks Chat
 * Completions and Responses and streams its events one by one, `messages-large` of one that speaks Messages and streams
 * them in large pieces, and so on.
 */
export async function startGateway(
  options: GatewayOptions,
): Promise<Program> {
  const { name, caFile } = options;
  const configFile = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    configFile,
    configText(options),
  );
  const main = new URL("../../src/main.ts", import.meta.url).pathname;
  const program = await startProgram(name, [
    V8_FLAGS,
    main,
    "serve",
    "--config",
    configFile,
    "--port",
    "0",
  ], caFile === undefined ? {} : { env: { DENO_CERT: caFile } });
  return {
    ...program,
    async stop() {
      await program.stop();
      await Deno.remove(configFile);
    },
  };
}

/** No benchmark uses so much. */
const LIMITS = [
  { window: "minute", requests: 1_000_000_000 },
  { window: "day", tokens: 1_000_000_000_000 },
  { window: "week", cost: 1_000_000 },
];

function configText(
  { upstreamUrl, workers = 1, hasLimits = false, storeUrl }: GatewayOptions,
): string {
  const price = hasLimits ? { price: { input: 1, output: 5 } } : {};
  const connections = ["small", "large", "paced"].flatMap((pieces) => {
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
