import { isDeepStrictEqual } from "node:util";
import type { Config, ServerConfig } from "./config.ts";
import type { LoadResult } from "./load.ts";
import type { Problem } from "./problems.ts";
import type { ConfigStore } from "./store.ts";

/** The outcome of an attempt to load a changed file. */
export type ReloadOutcome =
  | { readonly kind: "applied"; readonly warnings: readonly Problem[] }
  /** The file is equal to the configuration in use. */
  | { readonly kind: "unchanged" }
  /** The last valid configuration stays in use. */
  | { readonly kind: "rejected"; readonly problems: readonly Problem[] }
  /** The gateway itself failed. The last valid configuration stays in use. */
  | { readonly kind: "failed"; readonly error: unknown };

/** Loads the file as it is now. Resolves when that is done. Never rejects. */
type Reload = () => Promise<void>;

/** The dependencies of {@linkcode createReload}. */
interface ReloadOptions {
  readonly store: ConfigStore;
  /** Reads and validates the file. */
  readonly load: () => Promise<LoadResult>;
  /** Receives the outcome of each attempt. Must not throw. */
  readonly report: (outcome: ReloadOutcome) => void;
}

/** Settings that only a start can change, because listeners and threads depend on them. */
const START_SETTINGS: readonly (keyof ServerConfig)[] = [
  "host",
  "port",
  "workers",
  "admin",
];

/**
 * Creates the function that file changes and signals call.
 *
 * One attempt runs at a time. Calls during an attempt cause one more attempt, which reads the latest file.
 */
export function createReload(options: ReloadOptions): Reload {
  const started = options.store.current();
  let running: Promise<void> | undefined;
  let isPending = false;

  async function run(): Promise<void> {
    try {
      do {
        isPending = false;
        options.report(await attemptReload(options, started));
      } while (isPending);
    } finally {
      running = undefined;
    }
  }

  return () => {
    isPending = true;
    running ??= run();
    return running;
  };
}

/** @param started The configuration of the listeners and threads. */
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
    const pending = startSettings(started, result.config);
    return { kind: "applied", warnings: [...result.warnings, ...pending] };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** Compares two configurations without their pools, which repeat the connections many times. */
function isSameConfig(one: Config, other: Config): boolean {
  return isDeepStrictEqual({ ...one, pools: null }, { ...other, pools: null });
}

function startSettings(started: Config, wanted: Config): readonly Problem[] {
  const changed = START_SETTINGS.filter((key) =>
    !isDeepStrictEqual(started.server[key], wanted.server[key])
  );
  // A new certificate takes effect at once, but TLS cannot be switched on or off.
  const isTlsSwitched =
    (started.server.tls === undefined) !== (wanted.server.tls === undefined);
  const hasOtherStore = !isDeepStrictEqual(started.shared, wanted.shared);
  return [
    ...[...changed, ...(isTlsSwitched ? ["tls"] : [])].map((key) =>
      `server.${key}`
    ),
    ...(hasOtherStore ? ["shared"] : []),
  ]
    .map((path) => ({
      path,
      message: "has changed. It takes effect at the next start.",
    }));
}
