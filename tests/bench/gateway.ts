import { sha256Hex } from "../../src/core/sha256.ts";
import { type Program, startProgram } from "./processes.ts";

/** What the gateway of the benchmark knows its caller by. */
export const TOKEN = "bench-token";

/** How a gateway is set up. */
export interface GatewayOptions {
  readonly name: string;
  readonly upstreamUrl: string;
  readonly workers?: number;
  /** A PEM file that the upstream's certificate is vouched for by. */
  readonly caFile?: string;
}

/**
 * Starts this program before the benchmark's upstream. Model `chat-small` is of a connection that speaks Chat
 * Completions and Responses and streams its events one by one, `messages-large` of one that speaks Messages and streams
 * them in large pieces, and so on.
 */
export async function startGateway(
  { name, upstreamUrl, workers = 1, caFile }: GatewayOptions,
): Promise<Program> {
  const configFile = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(configFile, configText(upstreamUrl, workers));
  const main = new URL("../../src/main.ts", import.meta.url).pathname;
  const program = await startProgram(name, [
    "--v8-flags=--min-semi-space-size=16,--max-semi-space-size=32",
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

function configText(upstreamUrl: string, workers: number): string {
  const connections = ["small", "large"].flatMap((pieces) => {
    const base = `${upstreamUrl}/${pieces}/v1`;
    const auth = { scheme: "bearer", key: "bench-key" };
    return [{
      name: `chat-${pieces}`,
      service: "custom",
      family: "A",
      endpoints: { chat: base, responses: base },
      auth,
      models: [`chat-${pieces}`],
    }, {
      name: `messages-${pieces}`,
      service: "custom",
      family: "B",
      endpoints: { messages: base },
      auth,
      models: [`messages-${pieces}`],
    }, {
      name: `chat-only-${pieces}`,
      service: "custom",
      family: "A",
      endpoints: { chat: base },
      auth,
      models: [`chat-only-${pieces}`],
    }];
  });
  return JSON.stringify({
    server: { workers },
    connections,
    tokens: [{
      name: "bench",
      sha256: sha256Hex(TOKEN),
      connections: ["*"],
      max_concurrent: 1024,
    }],
  });
}
