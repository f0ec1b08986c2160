import { createHash } from "node:crypto";
import type { Deadlines } from "../../core/time/deadlines.ts";
import type { FailureWord } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";

/** A script that the store runs as one, so that nothing comes between its commands. */
export interface StoreScript {
  readonly lua: string;
  /** Whether it must not be run again with the same arguments. */
  readonly isOnce?: boolean;
}

/** A way to the store that nobody has to wait for when it is away. */
export interface StoreLink {
  /** Whether the store cannot be used now. */
  readonly isAway: boolean;
  /**
   * Sends a command, after all that were sent before.
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
  /** Calls `listener` whenever the store goes away or is back. */
  onChange(listener: (isAway: boolean) => void): void;
  /** Ends it for good. */
  close(): void;
}

/** What a {@linkcode StoreLink} works with. */
interface StoreLinkOptions {
  readonly open: OpenStore;
  /** A key that may be written to, to see whether the store takes anything. */
  readonly probeKey: string;
  readonly deadlines: Deadlines;
  readonly log: Log;
  /** What takes longer is late, in milliseconds. */
  readonly waitMs: number;
  /** Every script that is run. */
  readonly scripts: readonly StoreScript[];
}

/**
 * So many answers that come late, without one in time between, show that the store is slow; as many, that it is well.
 */
const LATE_TO_LEAVE = 3;

/** What is late within this time is one piece of evidence, in milliseconds. */
const LATE_PACE_MS = 100;

/** This process itself may be busy for so long before it sees an answer, in milliseconds. */
const REPLY_GRACE_MS = 5;

/** While the store is away it is asked so often whether it is back, in milliseconds. */
const PROBE_MS = 250;

/** A start says that the store is away only after this time, in milliseconds. */
const STARTUP_GRACE_MS = 2000;

/** Begins to connect; until that is done the store is away. */
export function createStoreLink(options: StoreLinkOptions): StoreLink {
  const { probeKey, deadlines, log, waitMs, scripts } = options;
  const listeners: ((isAway: boolean) => void)[] = [];
  let isAway = true;
  let isTold = false;
  let isClosed = false;
  let isProbing = false;
  let late = 0;
  let lateAtMs = -Infinity;
  let fault: StoreFault = "unreachable";
  /** The store is away until it has taken the command that it refused last. */
  let refused: readonly string[] | undefined;
  let awaySinceMs = deadlines.elapsedMs();

  function leave(why: StoreFault): void {
    fault = why;
    if (isAway) return;
    isAway = true;
    awaySinceMs = deadlines.elapsedMs();
    tellAway();
    change();
    probeLater();
  }

  function tellAway(): void {
    if (isTold || isClosed) return;
    isTold = true;
    log.write("shared_store_away", { failure: FAILURE_BY_FAULT[fault] });
  }

  function comeBack(): void {
    isAway = false;
    late = 0;
    const ms = Math.round(deadlines.elapsedMs() - awaySinceMs);
    log.write("shared_store_connected", isTold ? { away_ms: ms } : {});
    isTold = false;
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
    if (late >= LATE_TO_LEAVE) leave("slow");
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
        leave(error.fault);
      }
      throw error;
    } finally {
      cancel();
    }
  }

  /** Whether the store takes writes, in time, several times in a row, and the command that it refused. */
  async function isWell(): Promise<boolean> {
    for (const { lua } of scripts) {
      await connection.send(["SCRIPT", "LOAD", lua]);
    }
    for (let times = 0; times < LATE_TO_LEAVE; times++) {
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
      if (await isWell()) comeBack();
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
    onBroken: (error) => leave(error.fault),
  });
  const cancelPatience = deadlines.start(STARTUP_GRACE_MS, () => {
    if (isAway) tellAway();
  });
  return {
    get isAway() {
      return isAway;
    },
    send: (command) => send(command),
    run: (script, keys, args) =>
      send([
        ...["EVALSHA", sha1(script), String(keys.length)],
        ...keys,
        ...args.map(String),
      ], script.isOnce),
    onChange: (listener) => void listeners.push(listener),
    close() {
      isClosed = true;
      isAway = true;
      cancelProbe();
      cancelPatience();
      connection.close();
    },
  };
}

/** The log's word for each. */
const FAILURE_BY_FAULT: Readonly<Record<StoreFault, FailureWord>> = {
  unreachable: "unreachable",
  refused: "misconfigured",
  full: "exhausted",
  slow: "silent",
  failing: "trouble",
};

/** By which the store knows a script. */
function sha1(script: StoreScript): string {
  const known = digests.get(script);
  if (known !== undefined) return known;
  const digest = createHash("sha1").update(script.lua).digest("hex");
  digests.set(script, digest);
  return digest;
}

const digests = new Map<StoreScript, string>();

/** A connection to Valkey or Redis, which comes back by itself when it breaks. */
export interface StoreConnection {
  /**
   * Sends a command, after all that were sent before.
   *
   * @returns The reply, as RESP 2 has it: texts, whole numbers, lists of those, and null.
   * @throws {StoreError} When the store refuses it, or the connection is away.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** Ends it for good. */
  close(): void;
}

/** Told what becomes of a connection. */
export interface StoreEvents {
  /** Commands can be sent, for the first time or again. */
  onReady(): void;
  /** It broke, or could not be made; told at every try. */
  onBroken(error: StoreError): void;
}

/** Begins to connect. */
export type OpenStore = (events: StoreEvents) => StoreConnection;

/** Why the store cannot be used. */
type StoreFault =
  /** There is no connection. */
  | "unreachable"
  /** It does not take the credential, or does not allow the commands that are needed. */
  | "refused"
  /** It has no memory left. */
  | "full"
  /** It takes longer than a request may wait. */
  | "slow"
  /** Anything else that it answers instead. */
  | "failing";

/** The store did not do what it was told. Its message is for nobody: it may quote a command. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** The first word of what the store answered, such as `OOM`; empty when it answered nothing. */
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
  ["OOM", "full"],
]);
