import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { demoConfigText } from "../../../src/tools/demo/config.ts";
import { createStrictProvider } from "../upstream/strict_provider/mod.ts";
import { ALICE_TOKEN } from "./config.ts";
import { type RunningGateway, startGateway } from "./gateway.ts";
import { hurriedTimers } from "../fakes/hurried_timers.ts";
import { parseYaml } from "../yaml.ts";

/** The demo's configuration, with the failing models in the lists, where tests choose them. */
const LISTING_ALL = demoConfigText(sha256Hex(ALICE_TOKEN))
  .replaceAll("listed: false", "listed: true");

/** A request from the gateway to a simulated provider. */
export interface DemoRequest {
  readonly url: string;
  readonly body: string;
}

/** A gateway in front of the simulated providers. */
export interface DemoGateway extends RunningGateway {
  /** The requests to the providers, in order. */
  readonly asked: readonly DemoRequest[];
}

/**
 * Starts a gateway on a socket in front of the simulated providers, which respond without delay.
 *
 * @param more Options of the configuration that replace the demo's.
 */
export async function startDemoGateway(
  more: JsonObject = {},
): Promise<DemoGateway> {
  const demoFile = parseYaml(LISTING_ALL);
  if (!isJsonObject(demoFile)) throw new Error("The demo has no configuration");
  const file = { ...demoFile, ...more };
  const demo = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const asked: DemoRequest[] = [];
  const fetch: Fetch = async (url, init) => {
    const request = new Request(url, init);
    asked.push({ url, body: await request.clone().text() });
    return await demo(request);
  };
  const gateway = await startGateway(file, { fetch, timers: hurriedTimers });
  return { ...gateway, asked };
}

/** Starts the same gateway, whose connections offer all paths. */
export function startOffering(): Promise<DemoGateway> {
  const file = parseYaml(LISTING_ALL);
  if (!isJsonObject(file) || !Array.isArray(file.connections)) {
    throw new Error("The demo has no connections");
  }
  return startDemoGateway({
    connections: file.connections.filter(isJsonObject).map((connection) => ({
      ...connection,
      paths: ["chat", "messages", "responses"],
    })),
  });
}
