/** Gives a place back; only the first call counts. */
export type Leave = () => void;

/** How many requests are being served, against a limit. */
export interface RunningCount {
  /** Counts one more, unless that would pass `most`; says whether it did. */
  add(most: number): boolean;
  /** Counts one less. */
  remove(): void;
}

/** How many requests run under each key, against limits. */
export interface RunningCountsByKey {
  /** Counts one more under `key`, unless that would pass `most`; `undefined` when it would. */
  take(key: string, most: number | undefined): Leave | undefined;
}

/** Everything that is limited in how much of it may run at once. */
export interface RunningCounts {
  /** The whole gateway's. */
  readonly requests: RunningCount;
  /** By the SHA-256 of a caller's first token. */
  readonly callers: RunningCountsByKey;
  /** By the id of a connection. */
  readonly connections: RunningCountsByKey;
}

/** Nothing runs; what one thread counts for itself. */
export function createRunningCounts(): RunningCounts {
  return {
    requests: createRunningCount(),
    callers: createRunningCountsByKey(),
    connections: createRunningCountsByKey(),
  };
}

function createRunningCount(): RunningCount {
  let count = 0;
  return {
    add(most) {
      if (count >= most) return false;
      count += 1;
      return true;
    },
    remove: () => void (count -= 1),
  };
}

/** Counts nothing under any key. */
export function createRunningCountsByKey(): RunningCountsByKey {
  /** What is at 0 stays in, since there are few keys and most come again: to take one out and put it in costs more. */
  const counts = new Map<string, number>();

  function give(key: string): void {
    counts.set(key, (counts.get(key) ?? 1) - 1);
  }

  return {
    take(key, most) {
      const count = counts.get(key) ?? 0;
      if (most !== undefined && count >= most) return undefined;
      counts.set(key, count + 1);
      return once(() => give(key));
    },
  };
}

/** What does its work the first time it is called. */
export function once(work: () => void): Leave {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
