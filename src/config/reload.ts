import { isDeepStrictEqual } from "node:util";
import type { Config, ServerConfig } from "./config.ts";
import type { LoadResult } from "./load.ts";
import type { Problem } from "./problems.ts";
import type { ConfigStore } from "./store.ts";

/** What became of an attempt to take over a changed file. */
export type ReloadOutcome =
  | { readonly kind: "applied"; readonly warnings: readonly Problem[] }
  /** What the file says is in use already. */
  | { readonly kind: "unchanged" }
  /** The last good configuration stays in use. */
  | { readonly kind: "rejected"; readonly problems: readonly Problem[] }
  /** So does it when the gateway itself failed. */
  | { readonly kind: "failed"; readonly error: unknown };

/** Takes over the file as it is now; resolves when that is done. Never rejects. */
type Reload = () => Promise<void>;

/** What {@linkcode createReload} works with. */
interface ReloadOptions {
  readonly store: ConfigStore;
  /** Reads and validates the file. */
  readonly load: () => Promise<LoadResult>;
  /** Told the outcome of each attempt; must not throw. */
  readonly report: (outcome: ReloadOutcome) => void;
}

/** What only a start can set, because listeners and threads stand on it. */
const START_SETTINGS: readonly (keyof ServerConfig)[] = [
  "host",
  "port",
  "workers",
  "admin",
];

/**
 * Makes the function that file changes and signals call.
 *
 * One attempt runs at a time, and however many calls come meanwhile, one more follows: it sees what the
 * last of them saw.
 */
export function createReload(options: ReloadOptions): Reload {
  const started = options.store.current();
  let running: Promise<void> | undefined;
  let calledMeanwhile = false;

  async function run(): Promise<void> {
    try {
      do {
        calledMeanwhile = false;
        options.report(await attemptReload(options, started));
      } while (calledMeanwhile);
    } finally {
      running = undefined;
    }
  }

  return () => {
    calledMeanwhile = true;
    running ??= run();
    return running;
  };
}

/** @param started What the listeners and threads were made of. */
async function attemptReload(
  { store, load }: ReloadOptions,
  started: Config,
): Promise<ReloadOutcome> {
  try {
    const result = await load();
    if ("problems" in result) {
      return { kind: "rejected", problems: result.problems };
    }
    if (isSameConfig(result.config, store.current())) {
      return { kind: "unchanged" };
    }
    store.swap(result.config);
    const late = startSettings(started, result.config);
    return { kind: "applied", warnings: [...result.warnings, ...late] };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** The pools follow from the connections, and comparing them would compare those many times over. */
function isSameConfig(one: Config, other: Config): boolean {
  return isDeepStrictEqual({ ...one, pools: null }, { ...other, pools: null });
}

function startSettings(started: Config, wanted: Config): readonly Problem[] {
  const changed = START_SETTINGS.filter((key) =>
    !isDeepStrictEqual(started.server[key], wanted.server[key])
  );
  // Another certificate is taken over, but not whether there is one.
  const isOther =
    (started.server.tls === undefined) !== (wanted.server.tls === undefined);
  const isOtherStore = !isDeepStrictEqual(started.shared, wanted.shared);
  return [
    ...[...changed, ...(isOther ? ["tls"] : [])].map((key) => `server.${key}`),
    ...(isOtherStore ? ["shared"] : []),
  ]
    .map((path) => ({
      path,
      message: "has changed; it takes effect at the next start",
    }));
}
