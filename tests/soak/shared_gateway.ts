import { sha256Hex } from "../../src/core/sha256.ts";
import type { Program } from "../bench/processes.ts";
import { startGateway } from "./scene.ts";

/** A gateway that several tokens share, before one upstream. */
export interface SharedGateway extends AsyncDisposable {
  readonly program: Program;
  readonly port: number;
  /** The headers that show who asks. */
  headersOf(token: string): Record<string, string>;
}

/** What it is before. */
export interface SharedGatewayOptions {
  /** Of the upstream, which speaks Chat Completions. */
  readonly url: string;
  /** The names of the tokens; each is its own text. */
  readonly tokens: readonly string[];
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a gateway with the model `all` alone. */
export async function startSharedGateway(
  { url, tokens, timeouts = {}, env = {} }: SharedGatewayOptions,
): Promise<SharedGateway> {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      timeouts,
      connections: [{
        name: "all",
        service: "custom",
        family: "A",
        auth: { scheme: "bearer", key: "soak-key" },
        endpoints: { chat: `${url}/v1` },
        models: ["all"],
      }],
      tokens: tokens.map((name) => ({
        name,
        sha256: sha256Hex(name),
        connections: ["*"],
        max_concurrent: 1_000,
      })),
    }),
  );
  const program = await startGateway(file, env);
  return {
    program,
    port: Number(new URL(program.url).port),
    headersOf: (token) => ({
      authorization: `Bearer ${token}`,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    }),
    async [Symbol.asyncDispose]() {
      await program.stop();
      await Deno.remove(file);
    },
  };
}
