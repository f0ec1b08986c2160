import { within } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";

/** How long an attempt may take before the next address is tried, too (RFC 8305, section 5), in milliseconds. */
const NEXT_ADDRESS_MS = 250;

/** An address as a name lookup finds it. */
interface FoundAddress {
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}

/**
 * Orders addresses so that the families take turns, beginning with the first address's family (RFC 8305, section 4).
 */
export function alternate(found: readonly FoundAddress[]): string[] {
  const [first] = found;
  const preferred = found.filter(({ family }) => family === first?.family);
  const others = found.filter(({ family }) => family !== first?.family);
  return preferred.flatMap((one, index) => [one, others[index]])
    .concat(others.slice(preferred.length))
    .flatMap((one) => one === undefined ? [] : [one.address]);
}

/** Opens a connection to an address; gives up when the signal aborts. */
type Connect<Connection> = (
  address: string,
  signal: AbortSignal,
) => Promise<Connection>;

/**
 * Connects to the first of a host's addresses that answers. Tries the addresses in order, each address when the address
 * before it has failed or is slow. Closes all connections except the one that is returned.
 *
 * @throws When all addresses fail: the first reason other than `EADDRNOTAVAIL`, else the first reason.
 */
export async function raceAddresses<Connection extends { close(): void }>(
  addresses: readonly string[],
  connect: Connect<Connection>,
  signal: AbortSignal,
  timers: Timers = systemTimers,
): Promise<Connection> {
  const decided = new AbortController();
  const attempts: Promise<Connection>[] = [];
  const either = AbortSignal.any([signal, decided.signal]);
  try {
    for (const address of addresses) {
      const attempt = connect(address, either);
      attempts.push(attempt);
      const first = Promise.any(attempts);
      const isLast = attempts.length === addresses.length;
      const won = isLast
        ? await first
        : await unlessSlow(first, attempt, timers);
      if (won !== undefined) return closeOthers(attempts, won);
    }
    throw new Error("The host has no addresses");
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    // A machine without IPv6 fails with this code for each IPv6 address. These failures would hide the other errors.
    const { errors } = error;
    throw errors.find(({ code }) => code !== "EADDRNOTAVAIL") ?? errors[0];
  } finally {
    decided.abort();
  }
}

/**
 * Waits for the first attempt that succeeds.
 *
 * @returns `undefined` when the newest attempt has failed, or when no attempt has succeeded in time.
 */
function unlessSlow<Connection>(
  first: Promise<Connection>,
  newest: Promise<Connection>,
  timers: Timers,
): Promise<Connection | undefined> {
  const settled = new Promise<Connection | undefined>((resolve) => {
    first.then(resolve, () => resolve(undefined));
    newest.catch(() => resolve(undefined));
  });
  return within(settled, {
    ms: NEXT_ADDRESS_MS,
    start: timers.schedule,
    onLate: () => undefined,
  });
}

function closeOthers<Connection extends { close(): void }>(
  attempts: readonly Promise<Connection>[],
  won: Connection,
): Connection {
  for (const attempt of attempts) {
    attempt.then((other) => {
      if (other !== won) other.close();
    }, () => {
      // The attempt failed, or was given up.
    });
  }
  return won;
}
