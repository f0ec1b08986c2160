import type { Connection } from "../../config/config.ts";
import type { LiveConfig } from "../../config/live_config.ts";
import type { Deadlines } from "@gateway/base/time/deadlines";

/** Returns the connection with a newer key than the refused key; `undefined` when there is no newer key. */
export type KeyRenewal = (
  refused: Connection,
) => Promise<Connection | undefined>;

/** The dependencies of {@linkcode createKeyRenewal}. */
interface KeyRenewalOptions {
  readonly liveConfig: LiveConfig;
  readonly deadlines: Pick<Deadlines, "start">;
  /** Asks the process to exchange a connection's key; absent when the process exchanges no keys. */
  readonly ask: ((connectionId: string) => void) | undefined;
}

/** The longest wait of a request for a newer key, in milliseconds. */
const WAIT_MS = 5000;

/**
 * Creates the renewal of exchanged keys. A provider may revoke a key before it expires, so a refused key is exchanged
 * again. All requests that wait for a newer key of one connection share the exchange.
 */
export function createKeyRenewal(
  { liveConfig, deadlines, ask }: KeyRenewalOptions,
): KeyRenewal {
  const waiting = new Set<() => void>();
  liveConfig.onSwap(() => {
    for (const look of [...waiting]) look();
  });

  return async ({ auth, id }) => {
    if (ask === undefined || auth.scheme === "none") return undefined;
    if (auth.exchange === undefined || auth.key === "") return undefined;
    const { key } = auth;
    const newer = () =>
      liveConfig.current().connections.find(({ id: other, auth }) =>
        other === id && auth.scheme !== "none" && auth.key !== "" &&
        auth.key !== key
      );
    const known = newer();
    if (known !== undefined) return known;
    const { promise, resolve } = Promise.withResolvers<
      Connection | undefined
    >();
    const look = () => {
      const found = newer();
      if (found !== undefined) resolve(found);
    };
    waiting.add(look);
    const cancel = deadlines.start(WAIT_MS, () => resolve(undefined));
    ask(id);
    const found = await promise;
    cancel();
    waiting.delete(look);
    return found;
  };
}
