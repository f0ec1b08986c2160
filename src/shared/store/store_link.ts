import { createHash } from "node:crypto";
import type { Deadlines } from "../../core/time/deadlines.ts";
import type { FailureWord } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";

/** A script that the store runs atomically. */
export interface StoreScript {
  readonly lua: string;
  /** True when it must not be run again with the same arguments. */
  readonly isOnce?: boolean;
}

/** A link to the store that fails at once while the store is away. */
export interface StoreLink {
  /** True while the store cannot be used. */
  readonly isAway: boolean;
  /**
   * Sends a command, after all earlier ones.
   *
   * @throws {StoreError}
   */
  send(command: readonly string[]): Promise<unknown>;
  /**
   * Runs a script with these keys and arguments.
   *
   * @throws {StoreError}
   */
  run(
    script: StoreScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown>;
  /** Calls `listener` each time the store goes away or comes back. */
  onChange(listener: (isAway: boolean) => void): void;
  /** Closes the link for good. */
  close(): void;
}

/** The dependencies of a {@linkcode StoreLink}. */
interface StoreLinkOptions {
  readonly open: OpenStore;
  /** A key for test writes, which show whether the store accepts any. */
  readonly probeKey: string;
  readonly deadlines: Deadlines;
  readonly log: Log;
  /** The time after which a reply is late, in milliseconds. */
  readonly waitMs: number;
  /** All scripts that will be run. */
  readonly scripts: readonly StoreScript[];
}

/**
 * The number of late replies in a row after which the store counts as slow. As many replies in time show that it has
 * recovered.
 */
const MAX_LATE_REPLIES = 3;

/** The time within which several late replies count as one, in milliseconds. */
const LATE_PACE_MS = 100;

/** The time for which this process itself may be too busy to read a reply, in milliseconds. */
const REPLY_GRACE_MS = 5;

/** The interval between two probes while the store is away, in milliseconds. */
const PROBE_MS = 250;

/** The time after the start before the log reports that the store is away, in milliseconds. */
const STARTUP_GRACE_MS = 2000;

/** Creates a link and starts to connect; until then the store is away. */
export function createStoreLink(options: StoreLinkOptions): StoreLink {
  const { probeKey, deadlines, log, waitMs, scripts } = options;
  const listeners: ((isAway: boolean) => void)[] = [];
  let isAway = true;
  let isReported = false;
  let isClosed = false;
  let isProbing = false;
  let late = 0;
  let lateAtMs = -Infinity;
  let fault: StoreFault = "unreachable";
  /** The last command that the store rejected; the store is away until it accepts it. */
  let refused: readonly string[] | undefined;
  let awaySinceMs = deadlines.elapsedMs();

  function markAway(why: StoreFault): void {
    fault = why;
    if (isAway) return;
    isAway = true;
    awaySinceMs = deadlines.elapsedMs();
    reportAway();
    change();
    probeLater();
  }

  function reportAway(): void {
    if (isReported || isClosed) return;
    isReported = true;
    log.write("shared_store_away", { failure: FAILURE_BY_FAULT[fault] });
  }

  function markConnected(): void {
    isAway = false;
    late = 0;
    const ms = Math.round(deadlines.elapsedMs() - awaySinceMs);
    log.write("shared_store_connected", isReported ? { away_ms: ms } : {});
    isReported = false;
    change();
  }

  function change(): void {
    for (const listener of listeners) listener(isAway);
  }

  function noteLate(): void {
    const nowMs = deadlines.elapsedMs();
    if (nowMs - lateAtMs < LATE_PACE_MS) return;
    lateAtMs = nowMs;
    late += 1;
    if (late >= MAX_LATE_REPLIES) markAway("slow");
  }

  async function send(
    command: readonly string[],
    isOnce = false,
  ): Promise<unknown> {
    let cancel = deadlines.start(waitMs, () => {
      cancel = deadlines.start(REPLY_GRACE_MS, noteLate);
    });
    const sentMs = deadlines.elapsedMs();
    try {
      const reply = await connection.send(command);
      if (deadlines.elapsedMs() - sentMs < waitMs) late = 0;
      return reply;
    } catch (error) {
      if (error instanceof StoreError) {
        if (error.code !== "" && !isOnce) refused = command;
        markAway(error.fault);
      }
      throw error;
    } finally {
      cancel();
    }
  }

  /** Returns true when the store accepts several writes in a row in time, and then the command that it rejected. */
  async function isHealthy(): Promise<boolean> {
    for (const { lua } of scripts) {
      await connection.send(["SCRIPT", "LOAD", lua]);
    }
    for (let times = 0; times < MAX_LATE_REPLIES; times++) {
      const sentMs = deadlines.elapsedMs();
      await connection.send(["SET", probeKey, "1", "PX", "10000"]);
      if (deadlines.elapsedMs() - sentMs < waitMs) continue;
      fault = "slow";
      return false;
    }
    if (refused !== undefined) await connection.send(refused);
    refused = undefined;
    return true;
  }

  async function probe(): Promise<void> {
    if (!isAway || isProbing || isClosed) return;
    isProbing = true;
    try {
      if (await isHealthy()) markConnected();
    } catch (error) {
      if (error instanceof StoreError) fault = error.fault;
    } finally {
      isProbing = false;
    }
    if (isAway) probeLater();
  }

  let cancelProbe = () => {};
  function probeLater(): void {
    cancelProbe();
    if (!isClosed) cancelProbe = deadlines.start(PROBE_MS, probe);
  }

  const connection = options.open({
    onReady: probe,
    onBroken: (error) => markAway(error.fault),
  });
  const cancelStartup = deadlines.start(STARTUP_GRACE_MS, () => {
    if (isAway) reportAway();
  });
  return {
    get isAway() {
      return isAway;
    },
    send: (command) => send(command),
    run: (script, keys, args) =>
      send(
        [
          "EVALSHA",
          sha1(script),
          `${keys.length}`,
          ...keys,
          ...args.map(String),
        ],
        script.isOnce,
      ),
    onChange: (listener) => void listeners.push(listener),
    close() {
      isClosed = true;
      isAway = true;
      cancelProbe();
      cancelStartup();
      connection.close();
    },
  };
}

/** The log's word for each fault. */
const FAILURE_BY_FAULT: Readonly<Record<StoreFault, FailureWord>> = {
  unreachable: "unreachable",
  refused: "misconfigured",
  full: "exhausted",
  slow: "silent",
  failing: "trouble",
};

/** Returns the digest by which the store knows a script. */
function sha1(script: StoreScript): string {
  const known = digests.get(script);
  if (known !== undefined) return known;
  const digest = createHash("sha1").update(script.lua).digest("hex");
  digests.set(script, digest);
  return digest;
}

const digests = new Map<StoreScript, string>();

/** A connection to Valkey or Redis that reconnects by itself. */
export interface StoreConnection {
  /**
   * Sends a command, after all earlier ones.
   *
   * @returns The reply in the types of RESP 2: texts, whole numbers, lists of those, and null.
   * @throws {StoreError} When the store rejects it, or the connection is away.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** Closes the connection for good. */
  close(): void;
}

/** The events of a connection. */
export interface StoreEvents {
  /** Called when commands can be sent, for the first time or again. */
  onReady(): void;
  /** Called when the connection broke or could not be made, at every attempt. */
  onBroken(error: StoreError): void;
}

/** Opens a connection. */
export type OpenStore = (events: StoreEvents) => StoreConnection;

/** The reason why the store cannot be used. */
type StoreFault =
  /** There is no connection. */
  | "unreachable"
  /** The store rejects the credential, the database or the required commands. */
  | "refused"
  /** The store has no memory left. */
  | "full"
  /** The store takes longer than a request may wait. */
  | "slow"
  /** The store returns any other error. */
  | "failing";

/** A failed command. Its message is not for callers or logs: it may quote a command. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** The first word of the store's error, such as `OOM`; empty when there was no reply. */
  readonly code: string;

  constructor(code: string, options: ErrorOptions = {}) {
    super(code === "" ? "The store did not answer" : code, options);
    this.code = code;
  }

  get fault(): StoreFault {
    if (this.code === "") return "unreachable";
    return FAULT_BY_CODE.get(this.code) ?? "failing";
  }
}

/** The first words of errors: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const FAULT_BY_CODE: ReadonlyMap<string, StoreFault> = new Map([
  ["WRONGPASS", "refused"],
  ["NOAUTH", "refused"],
  ["NOPERM", "refused"],
  // The protected mode of a store without a password, when another machine connects.
  ["DENIED", "refused"],
  ["OOM", "full"],
]);
