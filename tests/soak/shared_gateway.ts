import { sha256Hex } from "../../src/base/sha256.ts";
import type { Program } from "../bench/processes.ts";
import { startGateway } from "./scene.ts";

/** A gateway that several tokens share, with one upstream. */
export interface SharedGateway extends AsyncDisposable {
  readonly program: Program;
  readonly port: number;
  /** The headers with a token. */
  headersOf(token: string): Record<string, string>;
}

/** The upstream and the tokens. */
export interface SharedGatewayOptions {
  /** The URL of the upstream, which speaks Chat Completions. */
  readonly url: string;
  /** The names of the tokens; each token's text is its name. */
  readonly tokens: readonly string[];
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly maxDescriptors?: number;
  /** The files of a certificate and its key; default: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Starts a gateway whose only model is `all`. */
export async function startSharedGateway(
  { url, tokens, timeouts = {}, env = {}, maxDescriptors, tls }:
    SharedGatewayOptions,
): Promise<SharedGateway> {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      ...(tls === undefined ? {} : { server: { tls } }),
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
  const program = await startGateway(file, { env, maxDescriptors });
  return {
    program,
    port: Number(new URL(program.url).port),
    headersOf: (token) => ({
      authorization: `Bearer ${token}`,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    }),
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await Deno.remove(file);
    },
  };
}
