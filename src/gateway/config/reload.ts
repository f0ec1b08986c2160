import { isDeepStrictEqual } from "node:util";
import { type ConfigChanges, configChanges } from "./changes.ts";
import type { Config, ServerConfig, SharedConfig } from "./config.ts";
import type { LoadResult } from "./load.ts";
import type { Problem } from "@gateway/base/problems";
import type { LiveConfig } from "./live_config.ts";

/** The outcome of an attempt to load a changed file. */
export type ReloadOutcome =
  | {
    readonly kind: "applied";
    readonly warnings: readonly Problem[];
    readonly changes: ConfigChanges;
  }
  /** The file is equal to the configuration in use. */
  | { readonly kind: "unchanged" }
  /** The last valid configuration stays in use. */
  | { readonly kind: "rejected"; readonly problems: readonly Problem[] }
  /** The gateway itself failed. The last valid configuration stays in use. */
  | { readonly kind: "failed"; readonly error: unknown };

/** Loads the file as it is now. Resolves when that is done. Never rejects. */
type Reload = (options?: ReloadCall) => Promise<void>;

/** The options of a {@linkcode Reload}. */
interface ReloadCall {
  /** True to replace even an equal configuration, so that all cool-downs end; default `false`. */
  readonly isForced?: boolean;
}

interface ReloadOptions {
  readonly liveConfig: LiveConfig;
  /**
   * Reads and validates the file.
   *
   * @param isDoubtful Returns true when the file must be read again before its configuration takes effect.
   */
  readonly load: (
    isDoubtful: (config: Config) => boolean,
  ) => Promise<LoadResult>;
  /** Receives the outcome of each attempt. Must not throw. */
  readonly report: (outcome: ReloadOutcome) => void;
}

/** Settings that only a start can change, because listeners and threads depend on these settings. */
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
  const started = options.liveConfig.current();
  let running: Promise<void> | undefined;
  let isPending = false;
  let isForced = false;

  async function run(): Promise<void> {
    try {
      do {
        const call = { isForced };
        isPending = false;
        isForced = false;
        options.report(await attemptReload(options, started, call));
      } while (isPending);
    } finally {
      running = undefined;
    }
  }

  return (call) => {
    isPending = true;
    isForced ||= call?.isForced === true;
    running ??= run();
    return running;
  };
}

/** @param started The configuration with which the listeners and threads started. */
async function attemptReload(
  { liveConfig, load }: ReloadOptions,
  started: Config,
  { isForced }: ReloadCall,
): Promise<ReloadOutcome> {
  try {
    const result = await load(createDoubt(liveConfig));
    if ("problems" in result) {
      return { kind: "rejected", problems: result.problems };
    }
    if (isSameConfig(result.config, liveConfig.current())) {
      if (isForced) liveConfig.swap(result.config);
      return { kind: "unchanged" };
    }
    const changes = configChanges(liveConfig.current(), result.config);
    liveConfig.swap(result.config);
    const pending = startSettings(started, result.config);
    const warnings = [...result.warnings, ...pending];
    return { kind: "applied", warnings, changes };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/**
 * Returns a function for `isDoubtful`. A file that removes a caller, a connection or a model may be half written. Such
 * a file takes effect only when a second reading finds the same configuration.
 */
function createDoubt(liveConfig: LiveConfig): (found: Config) => boolean {
  let before: Config | undefined;
  return (found) => {
    const isConfirmed = before !== undefined && isSameConfig(before, found);
    before = found;
    return !isConfirmed && takesAway(liveConfig.current(), found);
  };
}

function takesAway(current: Config, next: Config): boolean {
  const kept = new Set(namesOf(next));
  return namesOf(current).some((name) => !kept.has(name));
}

/** Returns a unique text for each caller, identity provider, connection and model. */
function namesOf(
  { callers, identity, connections, pools }: Config,
): readonly string[] {
  return [
    ...[...callers.keys()].map((hash) => `caller ${hash}`),
    ...identity.map(({ issuer }) => `issuer ${issuer}`),
    ...connections.map(({ id }) => `connection ${id}`),
    ...[...pools.keys()].map((model) => `model ${model}`),
  ];
}

/** Compares two configurations without their pools, because the pools repeat the connections many times. */
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
  const hasOtherStore = !isStoreKept(started.shared, wanted.shared);
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

/** Returns true when two settings name the same store. Ignores credentials, because new ones take effect at once. */
export function isStoreKept(
  one: SharedConfig | undefined,
  other: SharedConfig | undefined,
): boolean {
  const credentials = { username: null, password: null, ca: null };
  const [first, second] = [one, other].map((at) =>
    at && { ...at, ...credentials }
  );
  return isDeepStrictEqual(first, second);
}
