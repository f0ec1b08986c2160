import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import type { VirtualTime } from "./time.ts";

const HOST = "chat.example";

/** The `alerts` entry that sends alerts to a simulated receiver. */
export const ALERTS = {
  webhook: `https://${HOST}/hook-secret`,
  headers: { authorization: "Bearer sk-secret-of-the-receiver" },
};

/** A chat service that receives alerts. */
export class SimulatedReceiver {
  /** The alerts that it has accepted. */
  readonly received: JsonObject[] = [];
  /** The statuses of its next responses; 0 for a failed connection. */
  readonly statuses: number[] = [];
  requests = 0;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Returns a `fetch` that reaches this receiver, and uses the given one for all other hosts. */
  over(fetch: Fetch): Fetch {
    return async (url, init) => {
      if (new URL(url).hostname !== HOST) return await fetch(url, init);
      this.requests += 1;
      const request = new Request(url, init);
      const body = parseJson(await this.#time.outside(request.text()));
      await this.#time.sleep(50);
      const status = this.statuses.shift() ?? 200;
      if (status === 0) throw new TypeError("error sending request for url");
      const isAllowed = request.headers.get("authorization") ===
          ALERTS.headers.authorization && request.method === "POST";
      if (!isAllowed || !isJsonObject(body)) {
        return new Response(null, { status: 400 });
      }
      if (status === 200) this.received.push(body);
      return new Response(null, { status });
    };
  }
}
