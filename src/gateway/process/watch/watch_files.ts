/** Lists of files, each under a name. */
export type WatchedLists = ReadonlyMap<string, WatchedList>;

/** A list of files that may change, such as the files that match a pattern. */
export interface WatchedList {
  /** The list when it was read, as a text. */
  readonly seen: string;
  /** Reads the list again and returns it as a text. Never rejects. */
  read(): Promise<string>;
}

/** A running watch of files. */
interface FilesWatch {
  /** Replaces the watched files and lists. */
  follow(paths: ReadonlySet<string>, lists?: WatchedLists): void;
  /** Ends the watch; resolves when its timers and system resources are released. */
  stop(): Promise<void>;
}

interface WatchOptions {
  /** Called when one of the files may have changed, disappeared or returned. */
  readonly onChange: () => void;
  /** The first lists of files. */
  readonly lists?: WatchedLists;
  /** The quiet time between the last change and `onChange`, in milliseconds, so that a write can end. */
  readonly quietMs?: number;
  /** The longest time between the first change and `onChange`, in milliseconds, while changes continue. */
  readonly longestMs?: number;
  /** The time between two polls of the files' metadata, in milliseconds. */
  readonly pollMs?: number;
}

/**
 * Watches files by name. It notices when a file is written in place, replaced by renaming, or deleted and created
 * again, and when a symbolic link is switched (as Kubernetes does).
 *
 * Events of the directories report most changes at once. Some changes have no event: behind a link, on a network file
 * system, or in a directory that cannot be watched. Such changes are found by polling each file's inode, size and time.
 *
 * @param paths The first set of files.
 */
export function watchFiles(
  paths: ReadonlySet<string>,
  options: WatchOptions,
): FilesWatch {
  const { quietMs = 100, longestMs = 1_000, pollMs = 1_000 } = options;
  const settle = createSettle(options.onChange, { quietMs, longestMs });
  const events = watchDirectories(settle.touch);
  const poll = pollFiles({
    pollMs,
    stateOf: (name) => lists.get(name)?.read() ?? fingerprint(name),
    onChange: settle.touch,
  });

  let lists: WatchedLists = new Map();
  function follow(
    wanted: ReadonlySet<string>,
    wantedLists: WatchedLists = new Map(),
  ): void {
    const read = [...wantedLists]
      .filter(([name, list]) => lists.get(name) !== list)
      .map(([name, { seen }]) => [name, seen] as const);
    lists = wantedLists;
    events.follow(wanted);
    poll.follow(new Set([...wanted, ...lists.keys()]), new Map(read));
  }

  follow(paths, options.lists);
  return {
    follow,
    async stop() {
      await Promise.all([events.stop(), poll.stop()]);
      settle.stop();
    },
  };
}

/** Calls `action` when a quiet time has passed after the last touch, but at most `longestMs` after the first touch. */
function createSettle(
  action: () => void,
  { quietMs, longestMs }: {
    readonly quietMs: number;
    readonly longestMs: number;
  },
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  return {
    touch() {
      const now = performance.now();
      if (timer === undefined) latest = now + longestMs;
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = undefined;
        action();
      }, Math.max(0, Math.min(quietMs, latest - now)));
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

/** Opens the platform's watch; returns `undefined` for a directory that cannot be watched. */
function openWatcher(directory: string): Watcher | undefined {
  try {
    return Deno.watchFs(directory, { recursive: false });
  } catch {
    return undefined;
  }
}

/** The longest time in which two writes may get the same time stamp, in milliseconds. */
const YOUNG_MS = 2_000;

/** Returns the state of a file as a text. Equal texts mean equal content, unless the file was written just now. */
async function fingerprint(path: string): Promise<string> {
  const state = await fileState(path);
  const young = Date.now() - Number(state.split(" ").at(-1)) < YOUNG_MS;
  return `${state} ${young}`;
}

/** Returns the inode, size and time of a file as a text; "absent" without a file. */
export async function fileState(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtime } = await Deno.stat(path);
    return [dev, ino, size, mtime?.getTime() ?? 0].join(" ");
  } catch {
    return "absent";
  }
}

/** Polls the metadata of files. */
function pollFiles(
  { pollMs, stateOf, onChange }: {
    /** The time between two polls, in milliseconds. */
    readonly pollMs: number;
    /** Returns the state of a file as a text. The text differs after a change of the file. Never rejects. */
    readonly stateOf: (path: string) => Promise<string>;
    readonly onChange: () => void;
  },
) {
  const known = new Map<string, string | undefined>();
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function pollAll(): Promise<void> {
    await Promise.all([...known.keys()].map(poll));
    if (stopped) return;
    timer = setTimeout(() => {
      polling = pollAll();
    }, pollMs);
  }

  async function poll(path: string): Promise<void> {
    const seen = await stateOf(path);
    if (stopped || !known.has(path)) return;
    const before = known.get(path);
    known.set(path, seen);
    if (before !== undefined && seen !== before) onChange();
  }

  let polling = pollAll();
  return {
    /** Replaces the set of polled files. `states` contains the states that are already known. */
    follow(
      paths: ReadonlySet<string>,
      states: ReadonlyMap<string, string>,
    ): void {
      for (const path of known.keys()) {
        if (!paths.has(path)) known.delete(path);
      }
      for (const [path, state] of states) known.set(path, state);
      for (const path of paths) {
        if (known.has(path)) continue;
        known.set(path, undefined);
        polling = Promise.all([polling, poll(path)]).then(() => {});
      }
    },
    /** Ends the polling; resolves when no poll is running. */
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await polling;
    },
  };
}

/** The watch of one directory. */
interface DirectoryWatch {
  /** The names of the watched files. */
  readonly names: Set<string>;
  readonly finished: Promise<void>;
  close(): void;
}

/** The platform's own watch of a directory. */
interface Watcher
  extends AsyncIterable<{ readonly kind: string; readonly paths: string[] }> {
  close(): void;
}

/** Watches each directory of the files once. Skips directories that cannot be watched. */
function watchDirectories(onEvent: () => void) {
  const watches = new Map<string, DirectoryWatch>();
  const ended: Promise<void>[] = [];

  function end(directory: string, watch: DirectoryWatch): void {
    watches.delete(directory);
    watch.close();
    ended.push(watch.finished);
  }

  return {
    /** Replaces the set of watched files. */
    follow(paths: ReadonlySet<string>): void {
      for (const { names } of watches.values()) names.clear();
      for (const path of paths) {
        const [directory, name] = splitPath(path);
        const watch = watches.get(directory) ??
          watchDirectory(openWatcher(directory), onEvent);
        if (watch === undefined) continue;
        watches.set(directory, watch);
        watch.names.add(name);
      }
      for (const [directory, watch] of [...watches]) {
        if (watch.names.size === 0) end(directory, watch);
      }
    },
    /** Ends the watch; resolves when its system resources are released. */
    async stop(): Promise<void> {
      for (const [directory, watch] of [...watches]) end(directory, watch);
      await Promise.all(ended);
    },
  };
}

/** Follows the events of a directory; returns `undefined` without a watcher. */
function watchDirectory(
  watcher: Watcher | undefined,
  onEvent: () => void,
): DirectoryWatch | undefined {
  if (watcher === undefined) return undefined;
  const names = new Set<string>();
  const follow = async () => {
    for await (const event of watcher) {
      // A read is also an event. Each change leads to a read here, so reads do not count as changes.
      if (event.kind === "access") continue;
      if (event.paths.some((changed) => concerns(changed, names))) onEvent();
    }
  };
  return {
    names,
    finished: follow().catch(() => {}),
    close: () => watcher.close(),
  };
}

/** Returns true when the changed file has a watched name, or is the link `..data` that Kubernetes switches. */
function concerns(changed: string, names: ReadonlySet<string>): boolean {
  const changedName = splitPath(changed)[1];
  return names.has(changedName) || changedName.startsWith("..");
}

function splitPath(path: string): readonly [directory: string, name: string] {
  const parts = path.split(/[/\\]/);
  const name = parts.pop() ?? "";
  return [parts.join("/") || (path.startsWith("/") ? "/" : "."), name];
}
