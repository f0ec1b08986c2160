import type { UsageReport } from "../../../src/usage/report.ts";
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

/** A gateway whose providers give every answer 3 input tokens and 2 of output. */
export interface UsageScene extends Scene {
  /** What `GET /usage` says to a token. */
  usage(token?: string): Promise<UsageReport>;
  /** Puts another configuration in place, with these outermost keys. */
  reload(overrides: Fields): Promise<void>;
}

/** In US dollars per million tokens: an answer costs 22 millionths of a dollar. */
export const PRICE = { input: 2, output: 8 };

/** The connections of a scene: `one`, which has `model-1` and `model-2`, both with a price. */
export function oneConnection(overrides: Fields = {}): Record<string, unknown> {
  return connectionTo("one", { protocol: "chat", mode: "native" }, {
    models: ["model-1", "model-2"].map((id) => ({ id, price: PRICE })),
    ...overrides,
  });
}

/**
 * @param overrides Outermost keys of the configuration.
 * @param scripts What the providers do; by default they answer.
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
      scene.store.swap(configOf(await loadFile(file)));
    },
  };
}

/** Outermost keys for a token with these limits. */
export function limited(...limits: readonly Fields[]): Fields {
  return { tokens: [tokenFile({ limits })] };
}
