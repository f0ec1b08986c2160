import { createHash } from "node:crypto";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { FailureWord } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";

/** A script that the store runs atomically. */
export interface StoreScript {
  readonly lua: string;
  /** True when the script must not be run again with the same arguments. */
  readonly isOnce?: boolean;
}

/** A link to the store. While the store is away, every call fails at once. */
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

interface StoreLinkOptions {
  readonly open: OpenStore;
  /** A key for test writes. Test writes show whether the store accepts writes. */
  readonly probeKey: string;
  readonly deadlines: Deadlines;
  readonly log: Log;
  /** The time after which a reply is late, in milliseconds. */
  readonly waitMs: number;
  /** All scripts that will be run. */
  readonly scripts: readonly StoreScript[];
}

/**
 * The number of successive late replies after which the store counts as slow. The same number of replies in time shows
 * that the store has recovered.
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

/** Creates a link and starts to connect. The store is away until the link is connected. */
export function createStoreLink(options: StoreLinkOptions): StoreLink {
  return new Link(options);
}

class Link implements StoreLink {
  readonly #options: StoreLinkOptions;
  readonly #connection: StoreConnection;
  readonly #condition: LinkCondition;
  readonly #lateReplies = new LateReplies();
  readonly #cancelStartup: () => void;
  #cancelProbe = () => {};
  #isProbing = false;
  #isClosed = false;
  /** The last command that the store rejected; the store is away until it accepts this command. */
  #refused: readonly string[] | undefined;

  constructor(options: StoreLinkOptions) {
    this.#options = options;
    this.#condition = new LinkCondition(options);
    this.#connection = options.open({
      onReady: () => this.#probe(),
      onBroken: (error) => this.#markAway(error.fault),
    });
    this.#cancelStartup = options.deadlines.start(
      STARTUP_GRACE_MS,
      () => this.isAway && this.#condition.reportAway(),
    );
  }

  get isAway(): boolean {
    return this.#condition.isAway;
  }

  onChange(listener: (isAway: boolean) => void): void {
    this.#condition.listeners.push(listener);
  }

  send(command: readonly string[]): Promise<unknown> {
    return this.#send(command);
  }

  run(
    script: StoreScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const count = String(keys.length);
    return this.#send(
      ["EVALSHA", sha1(script), count, ...keys, ...args.map(String)],
      script.isOnce,
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#condition.end();
    this.#cancelProbe();
    this.#cancelStartup();
    this.#connection.close();
  }

  async #send(command: readonly string[], isOnce = false): Promise<unknown> {
    const { deadlines, waitMs } = this.#options;
    let cancel = deadlines.start(waitMs, () => {
      cancel = deadlines.start(REPLY_GRACE_MS, () => this.#noteLate());
    });
    const sentMs = deadlines.elapsedMs();
    try {
      const reply = await this.#connection.send(command);
      if (deadlines.elapsedMs() - sentMs < waitMs) this.#lateReplies.end();
      return reply;
    } catch (error) {
      if (error instanceof StoreError) {
        if (error.code !== "" && !isOnce) this.#refused = command;
        this.#markAway(error.fault);
      }
      throw error;
    } finally {
      cancel();
    }
  }

  #noteLate(): void {
    const areTooMany = this.#lateReplies.note(
      this.#options.deadlines.elapsedMs(),
    );
    if (areTooMany) this.#markAway("slow");
  }

  #markAway(fault: StoreFault): void {
    if (this.#condition.markAway(fault)) this.#probeLater();
  }

  async #probe(): Promise<void> {
    if (!this.isAway || this.#isProbing || this.#isClosed) return;
    this.#isProbing = true;
    try {
      if (await this.#isHealthy()) {
        this.#lateReplies.end();
        this.#condition.markConnected();
      }
    } catch (error) {
      // An error without a code means that there is no connection. The attempt to connect reports the reason.
      if (error instanceof StoreError && error.code !== "") {
        this.#condition.fault = error.fault;
      }
    } finally {
      this.#isProbing = false;
    }
    if (this.isAway) this.#probeLater();
  }

  #probeLater(): void {
    this.#cancelProbe();
    if (this.#isClosed) return;
    const { deadlines } = this.#options;
    this.#cancelProbe = deadlines.start(PROBE_MS, () => this.#probe());
  }

  /**
   * Returns true when the store accepts several successive writes in time, and then the last command that the store
   * rejected.
   */
  async #isHealthy(): Promise<boolean> {
    const { scripts, deadlines, probeKey, waitMs } = this.#options;
    for (const { lua } of scripts) {
      await this.#connection.send(["SCRIPT", "LOAD", lua]);
    }
    for (let times = 0; times < MAX_LATE_REPLIES; times++) {
      const sentMs = deadlines.elapsedMs();
      await this.#connection.send(["SET", probeKey, "1", "PX", "10000"]);
      if (deadlines.elapsedMs() - sentMs < waitMs) continue;
      this.#condition.fault = "slow";
      return false;
    }
    if (this.#refused !== undefined) await this.#connection.send(this.#refused);
    this.#refused = undefined;
    return true;
  }
}

/** Counts successive late replies. */
class LateReplies {
  #count = 0;
  #lastMs = -Infinity;

  /** Counts a late reply, and returns true when the store is slow. */
  note(nowMs: number): boolean {
    if (nowMs - this.#lastMs < LATE_PACE_MS) return false;
    this.#lastMs = nowMs;
    this.#count += 1;
    return this.#count >= MAX_LATE_REPLIES;
  }

  /** Notes a reply in time. */
  end(): void {
    this.#count = 0;
  }
}

/** Tracks whether the store can be used, for the log and for listeners. */
class LinkCondition {
  readonly listeners: ((isAway: boolean) => void)[] = [];
  /** The latest reason why the store cannot be used. */
  fault: StoreFault = "unreachable";
  readonly #options: Pick<StoreLinkOptions, "deadlines" | "log">;
  #isAway = true;
  #isReported = false;
  #hasEnded = false;
  #awaySinceMs: number;

  constructor(options: Pick<StoreLinkOptions, "deadlines" | "log">) {
    this.#options = options;
    this.#awaySinceMs = options.deadlines.elapsedMs();
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Marks the store as away. Returns true when the store was connected until now. */
  markAway(fault: StoreFault): boolean {
    const isNews = fault === "refused" && fault !== this.fault;
    this.fault = fault;
    // Only a person can end a refusal, so a refusal is reported even after another reason was reported.
    if (this.#isReported && isNews) {
      this.#isReported = false;
      this.reportAway();
    }
    if (this.#isAway) return false;
    this.#isAway = true;
    this.#awaySinceMs = this.#options.deadlines.elapsedMs();
    this.reportAway();
    this.#change();
    return true;
  }

  markConnected(): void {
    const { deadlines, log } = this.#options;
    this.#isAway = false;
    const ms = Math.round(deadlines.elapsedMs() - this.#awaySinceMs);
    log.write(
      "shared_store_connected",
      this.#isReported ? { away_ms: ms } : {},
    );
    this.#isReported = false;
    this.#change();
  }

  reportAway(): void {
    if (this.#isReported || this.#hasEnded) return;
    this.#isReported = true;
    const failure = FAILURE_BY_FAULT[this.fault];
    this.#options.log.write("shared_store_away", { failure });
  }

  /** Reports nothing from now on. */
  end(): void {
    this.#isAway = true;
    this.#hasEnded = true;
  }

  #change(): void {
    for (const listener of this.listeners) listener(this.#isAway);
  }
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
   * @returns The reply in the types of RESP 2: texts, whole numbers, null, and lists of such values.
   * @throws {StoreError} When the store rejects the command, or the connection is away.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** Closes the connection for good. */
  close(): void;
}

/** The events of a connection. */
export interface StoreEvents {
  /** Called when commands can be sent, for the first time or again. */
  onReady(): void;
  /** Called when the connection breaks, and after each failed attempt to connect. */
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

/** A failed command. The message of the error is not for callers or logs, because it may quote a command. */
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
  // A store without a password is in protected mode and rejects other machines.
  ["DENIED", "refused"],
  ["OOM", "full"],
]);
