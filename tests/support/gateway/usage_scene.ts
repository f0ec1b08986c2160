import type { UsageReport } from "../../../src/gateway/usage/report.ts";
import { good } from "../upstream/bad_provider.ts";
import type { Act } from "../upstream/bad_provider.ts";
import {
  ALICE_TOKEN,
  configOf,
  loadFile,
  minimalFile,
  tokenFile,
} from "./config.ts";
import { connectionTo, openScene, type Scene } from "./failover_scene.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A gateway whose providers report 3 input tokens and 2 output tokens for each answer. */
export interface UsageScene extends Scene {
  /** Returns the report of `GET /usage` for a token. */
  usage(token?: string): Promise<UsageReport>;
  /** Applies another configuration with these top-level keys. */
  reload(overrides: Fields): Promise<void>;
}

/** The price of a model, in US dollars per million tokens: an answer costs 22 millionths of a dollar. */
export const PRICE = { input: 2, output: 8 };

/** Returns the connection `one` of a scene, with `model-1` and `model-2`, both with a price. */
export function oneConnection(overrides: Fields = {}): Record<string, unknown> {
  return connectionTo("one", { protocol: "chat", mode: "native" }, {
    models: ["model-1", "model-2"].map((id) => ({ id, price: PRICE })),
    ...overrides,
  });
}

/**
 * Opens a {@linkcode UsageScene}.
 *
 * @param overrides Top-level keys of the configuration.
 * @param scripts The actions of the providers; by default they send good answers.
 */
export async function openUsageScene(
  overrides: Fields = {},
  scripts: Readonly<Record<string, readonly Act[]>> = {
    one: [good],
    two: [good],
  },
): Promise<UsageScene> {
  const connections = [oneConnection()];
  const scene = await openScene(connections, scripts, overrides);
  return {
    ...scene,
    async usage(token = ALICE_TOKEN) {
      const response = await scene.pass(
        scene.gateway.handler(
          new Request("http://gateway/v1/usage", {
            headers: { authorization: `Bearer ${token}` },
          }),
        ),
      );
      return await scene.pass(response.json());
    },
    async reload(other) {
      const file = minimalFile({ connections, ...other });
      scene.liveConfig.swap(configOf(await loadFile(file)));
    },
  };
}

/** Returns the top-level keys for a token with these limits. */
export function limited(...limits: readonly Fields[]): Fields {
  return { tokens: [tokenFile({ limits })] };
}
