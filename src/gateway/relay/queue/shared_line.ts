import type { Deployment } from "../../config/config.ts";
import type { Cancel, Deadlines } from "@gateway/base/time/deadlines";
import { keyOfIds, type RankedGroup, type SentGroup } from "./waiting_line.ts";

/** News of the line of one gateway at a deployment, as threads and replicas send it to each other. */
export interface LineNews extends LineLoad {
  readonly connectionId: string;
  readonly model: string;
  /** The id of the line. */
  readonly from: string;
  /** The use to add for each caller, in milliseconds, by the digest of the caller. */
  readonly used: Readonly<Record<string, number>>;
  /** The requests that need only a slot. Only threads send them, because replicas do not share slots. */
  readonly turns?: readonly SentGroup[] | undefined;
  /** The time for which the news counts, in milliseconds. */
  readonly ms: number;
}

/** The length of a line. */
export interface LineLoad {
  /** The number of waiting requests. */
  readonly waiting: number;
  /** The time until all waiting requests have had their turn, in milliseconds; 0 when it is not known. */
  readonly expectedMs: number;
}

/** The state of this gateway's line. */
export type OwnLine = Pick<LineNews, "waiting" | "expectedMs" | "turns">;

interface SharedLineOptions {
  /** An unguessable id. */
  readonly id: string;
  readonly deadlines: Deadlines;
  /** Absent when no other gateway shares the line. */
  readonly publish?: ((news: LineNews) => void) | undefined;
  /** Returns the state of this gateway's line at a deployment, by the deployment's key. */
  readonly describe: (key: string) => OwnLine;
}

/** The interval at which news is sent, and the time for which news counts, in milliseconds. */
const SEND_MS = 100;
const LASTS_MS = 1_000;

/** The use to add for a caller. */
interface NewUse {
  /** The digest of the caller. */
  readonly caller: string;
  /** The use, in milliseconds. */
  readonly ms: number;
}

/** The changes at a deployment that are not sent yet. */
interface Unsent {
  readonly deployment: Deployment;
  readonly used: Map<string, number>;
}

/** The last news of another line. */
interface OtherLine extends LineLoad {
  readonly connectionId: string;
  readonly turns: readonly RankedGroup[];
  readonly untilMs: number;
}

/** Keeps the state of other gateways' lines, and sends these gateways the news of this gateway's line. */
export class SharedLine {
  readonly #options: SharedLineOptions;
  readonly #unsent = new Map<string, Unsent>();
  /** By the deployment's key, then by the id of the line. */
  readonly #others = new Map<string, Map<string, OtherLine>>();
  #cancel: Cancel | undefined;

  constructor(options: SharedLineOptions) {
    this.#options = options;
  }

  /** Notes a change of the line at a deployment, or of a caller's use. The change is sent soon. */
  note(key: string, deployment: Deployment, use?: NewUse): void {
    const { publish, deadlines } = this.#options;
    if (publish === undefined) return;
    let unsent = this.#unsent.get(key);
    if (unsent === undefined) {
      unsent = { deployment, used: new Map() };
      this.#unsent.set(key, unsent);
    }
    if (use !== undefined) {
      const { used } = unsent;
      used.set(use.caller, use.ms + (used.get(use.caller) ?? 0));
    }
    this.#cancel ??= deadlines.start(SEND_MS, () => this.send());
  }

  /** Sends the noted changes now. While requests wait, the line is sent again at each interval. */
  send(): void {
    const { publish, id, describe } = this.#options;
    this.#cancel?.();
    this.#cancel = undefined;
    const all = [...this.#unsent];
    this.#unsent.clear();
    for (const [key, { deployment, used }] of all) {
      const own = describe(key);
      publish?.({
        ...own,
        connectionId: deployment.connection.id,
        model: deployment.model.id,
        from: id,
        used: Object.fromEntries(used),
        ms: LASTS_MS,
      });
      if (own.waiting > 0) this.note(key, deployment);
    }
  }

  /** Replaces the last news of another line. */
  follow(
    { connectionId, model, from, turns = [], ms, ...load }: LineNews,
  ): void {
    const key = keyOfIds(connectionId, model);
    const nowMs = this.#options.deadlines.elapsedMs();
    const lines = this.#others.get(key) ?? new Map<string, OtherLine>();
    // A gateway that has ended sends no more news, so its line expires.
    for (const [id, { untilMs }] of lines) {
      if (untilMs <= nowMs) lines.delete(id);
    }
    if (load.waiting === 0) lines.delete(from);
    else {
      lines.set(from, {
        ...load,
        connectionId,
        untilMs: nowMs + ms,
        turns: turns.map(({ waitedMs, ...turn }) => ({
          ...turn,
          session: undefined,
          sinceMs: nowMs - waitedMs,
          // The sender has set `isBackground` only for work that still stands back.
          backUntilMs: Infinity,
        })),
      });
    }
    if (lines.size === 0) this.#others.delete(key);
    else this.#others.set(key, lines);
  }

  /** Returns the requests that wait elsewhere for a slot that this gateway could take. */
  turnsAt(key: string): readonly RankedGroup[] {
    const lines = this.#others.get(key);
    if (lines === undefined) return NONE;
    return this.#fresh(lines).flatMap(({ turns }) => turns);
  }

  /** Returns true when a request elsewhere waits for a slot of a deployment whose key `isOne` accepts. */
  isAwaited(isOne: (key: string) => boolean): boolean {
    return this.#others.keys()
      .some((key) => isOne(key) && this.turnsAt(key).length > 0);
  }

  /** Returns the lengths of the other lines at a connection. */
  loadsOf(connectionId: string): readonly LineLoad[] {
    return [...this.#others.values()]
      .flatMap((lines) => this.#fresh(lines))
      .filter((line) => line.connectionId === connectionId);
  }

  #fresh(lines: ReadonlyMap<string, OtherLine>): readonly OtherLine[] {
    const nowMs = this.#options.deadlines.elapsedMs();
    return [...lines.values()].filter(({ untilMs }) => nowMs < untilMs);
  }
}

const NONE: readonly RankedGroup[] = [];
