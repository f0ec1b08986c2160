import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { loadConfig } from "../../../src/gateway/config/load.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { demoConfigText } from "../../../src/tools/demo/config.ts";
import { createDemoUpstream } from "../../../src/tools/demo/upstream.ts";

/** The token that {@linkcode createWebHandler} accepts. */
export const TOKEN = "portable";

/** Returns a gateway with the simulated provider as a web-standard handler, independent of any platform. */
export async function createWebHandler(): Promise<
  (request: Request) => Promise<Response>
> {
  const loaded = await loadConfig(demoConfigText(sha256Hex(TOKEN)), {
    env: () => undefined,
    readFile: () => Promise.reject(new Error("no files")),
    listFiles: () => Promise.resolve([]),
    nowMs: Date.now(),
  });
  if ("problems" in loaded) throw new Error("The demo's file has problems");
  const { handler } = createGateway({
    liveConfig: createLiveConfig(loaded.config),
    fetch: createDemoUpstream({
      clock: systemClock,
      ids: randomIds,
      wordMs: 0,
    }),
    log: { write() {} },
  });
  return async (request) => await handler(request);
}
