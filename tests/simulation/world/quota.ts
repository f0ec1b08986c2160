import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import type { Random } from "../../support/fakes/random.ts";
import { keyOf, type SimulatedProvider } from "./provider.ts";
import type { VirtualTime } from "./time.ts";

const FIVE_HOURS_MS = 5 * 3600_000;

/** A provider's quota: a window of five hours, which begins with a request and counts the charged tokens. */
export class SimulatedQuota {
  /** The tokens of a window. */
  readonly limit: number;
  /** All amounts that it has reported as used. */
  readonly said = new Set<number>();
  /** The moments at which it reported room, in milliseconds since the start of the history. */
  readonly roomShownMs: number[] = [];
  readonly #time: VirtualTime;
  #startMs = -Infinity;
  #used = 0;

  constructor(time: VirtualTime, limit: number) {
    this.#time = time;
    this.limit = limit;
  }

  /** The tokens that were charged in the window. */
  get used(): number {
    return this.#isOver ? 0 : this.#used;
  }

  /** The end of the window, in milliseconds since the start of the history; undefined before its first request. */
  get resetsMs(): number | undefined {
    return this.#isOver ? undefined : this.#startMs + FIVE_HOURS_MS;
  }

  /** Charges tokens, of the gateway's requests or of another client of the same key. */
  charge(tokens: number): void {
    if (this.#isOver) {
      this.#startMs = this.#time.elapsedMs();
      this.#used = 0;
    }
    this.#used += tokens;
  }

  /** Resets the window early, as some providers do for everybody. */
  giveBack(): void {
    this.#startMs = -Infinity;
  }

  get #isOver(): boolean {
    return this.#time.elapsedMs() >= this.#startMs + FIVE_HOURS_MS;
  }
}

/** Returns the `fetch` that reads the quotas of providers, in the format of Z.ai; some reads fail. */
export function createQuotaFetch(
  providers: readonly SimulatedProvider[],
  { time, random }: { readonly time: VirtualTime; readonly random: Random },
): Fetch {
  return async (url, { headers, signal }) => {
    const { hostname } = new URL(url);
    const provider = providers.find(({ host }) => host === hostname);
    const luck = random.below(20);
    await time.sleep(1 + random.below(luck === 0 ? 20_000 : 300));
    signal?.throwIfAborted();
    const { quota } = provider ?? {};
    if (provider === undefined || quota === undefined) {
      return new Response(null, { status: 404 });
    }
    if (new Headers(headers).get("authorization") !== keyOf(provider)) {
      return Response.json({ code: 401, success: false, msg: "No" });
    }
    if (luck === 1) throw new TypeError("error sending request for url");
    if (luck === 2) return new Response("<html>", { status: 502 });
    return Response.json(quotaBody(quota, time));
  };
}

function quotaBody(quota: SimulatedQuota, time: VirtualTime): object {
  const { limit, used, resetsMs, said, roomShownMs } = quota;
  said.add(used);
  if (used < limit) roomShownMs.push(time.elapsedMs());
  const row = {
    ...{ type: "CREDIT_LIMIT", unit: 3, number: 5 },
    ...{ usage: limit, currentValue: used },
    remaining: Math.max(0, limit - used),
    percentage: Math.floor(100 * used / limit),
    ...resetsMs === undefined ? {} : { nextResetTime: time.startMs + resetsMs },
  };
  return { code: 200, success: true, data: { limits: [row] } };
}
