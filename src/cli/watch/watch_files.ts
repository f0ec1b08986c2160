/** A watch of files that can be ended. */
interface FilesWatch {
  /** Changes which files are watched. */
  follow(paths: ReadonlySet<string>): void;
  /** Ends the watch; once it resolves, no timer and no system resource of it is left. */
  stop(): Promise<void>;
}

/** How {@linkcode watchFiles} watches. */
interface WatchOptions {
  /** Called when one of the files may have changed; also when it went or came back. */
  readonly onChange: () => void;
  /** Quiet time after the last sign of a change, in milliseconds, so that a file is written out. */
  readonly quietMs?: number;
  /** At most this long after the first sign, in milliseconds, however unquiet it stays. */
  readonly longestMs?: number;
  /** Between two looks at the files' own data, in milliseconds. */
  readonly pollMs?: number;
}

/**
 * Watches files by name, whatever stands there: written in place, replaced by renaming, deleted and
 * created again, or reached through symbolic links that are switched (as Kubernetes does).
 *
 * Events of their directories make it quick; looking at each file's inode, size and time every second finds
 * what gives no event here: a link's target elsewhere, a network file system, a directory that cannot
 * be watched.
 *
 * @param paths The first ones.
 */
export function watchFiles(
  paths: ReadonlySet<string>,
  options: WatchOptions,
): FilesWatch {
  const { quietMs = 100, longestMs = 1_000, pollMs = 1_000 } = options;
  const settle = createSettle(options.onChange, { quietMs, longestMs });
  const events = watchDirectories({ open: openWatcher, onEvent: settle.touch });
  const poll = pollFiles({
    pollMs,
    look: fingerprint,
    onChange: settle.touch,
  });

  function follow(wanted: ReadonlySet<string>): void {
    events.follow(wanted);
    poll.follow(wanted);
  }

  follow(paths);
  return {
    follow,
    async stop() {
      await Promise.all([events.stop(), poll.stop()]);
      settle.stop();
    },
  };
}

/** Calls `action` once it has been quiet for a while after a touch. */
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

function openWatcher(directory: string): Watcher | undefined {
  try {
    return Deno.watchFs(directory, { recursive: false });
  } catch {
    return undefined;
  }
}

/** A time stamp this young does not yet tell two writes apart, in milliseconds. */
const YOUNG_MS = 2_000;

/** Inode, size and time: two equal ones mean one content; those of a young file prove nothing yet. */
async function fingerprint(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtime } = await Deno.stat(path);
    const writtenMs = mtime?.getTime() ?? 0;
    const young = Date.now() - writtenMs < YOUNG_MS;
    return [dev, ino, size, writtenMs, young].join(" ");
  } catch {
    return "absent";
  }
}

/** Looks at files again and again. */
interface FilesPoll {
  /** Changes which files are looked at. */
  follow(paths: ReadonlySet<string>): void;
  /** Resolves when it looks no more. */
  stop(): Promise<void>;
}

/** How {@linkcode pollFiles} looks. */
interface PollOptions {
  /** Between two looks, in milliseconds. */
  readonly pollMs: number;
  /** What is seen of a file; another text means that it may have changed. Never rejects. */
  readonly look: (path: string) => Promise<string>;
  readonly onChange: () => void;
}

/** Looks at files themselves. */
function pollFiles(
  { pollMs, look, onChange }: PollOptions,
): FilesPoll {
  const known = new Map<string, string | undefined>();
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function lookAround(): Promise<void> {
    await Promise.all([...known.keys()].map(lookAt));
    if (stopped) return;
    timer = setTimeout(() => {
      looking = lookAround();
    }, pollMs);
  }

  async function lookAt(path: string): Promise<void> {
    const seen = await look(path);
    if (stopped || !known.has(path)) return;
    const before = known.get(path);
    known.set(path, seen);
    if (before !== undefined && seen !== before) onChange();
  }

  let looking = lookAround();
  return {
    follow(paths) {
      for (const path of known.keys()) {
        if (!paths.has(path)) known.delete(path);
      }
      for (const path of paths) {
        if (known.has(path)) continue;
        known.set(path, undefined);
        looking = Promise.all([looking, lookAt(path)]).then(() => {});
      }
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

/** Hears of what happens in directories. */
interface DirectoriesWatch {
  /** Changes which files it is about. */
  follow(paths: ReadonlySet<string>): void;
  /** Resolves when no system resource of it is left. */
  stop(): Promise<void>;
}

/** The events of one directory. */
interface DirectoryWatch {
  /** Of the files that matter. */
  readonly names: Set<string>;
  readonly finished: Promise<void>;
  close(): void;
}

/** The platform's own watch of a directory. */
interface Watcher
  extends AsyncIterable<{ readonly kind: string; readonly paths: string[] }> {
  close(): void;
}

/** How {@linkcode watchDirectories} watches. */
interface DirectoriesOptions {
  /** Begins to watch a directory; `undefined` where that cannot be. */
  readonly open: (directory: string) => Watcher | undefined;
  readonly onEvent: () => void;
}

/** Watches the directories of files, each once; one that cannot be watched is left out. */
function watchDirectories(
  { open, onEvent }: DirectoriesOptions,
): DirectoriesWatch {
  const watches = new Map<string, DirectoryWatch>();
  const ended: Promise<void>[] = [];

  function end(directory: string, watch: DirectoryWatch): void {
    watches.delete(directory);
    watch.close();
    ended.push(watch.finished);
  }

  return {
    follow(paths) {
      for (const { names } of watches.values()) names.clear();
      for (const path of paths) {
        const [directory, name] = splitPath(path);
        const watch = watches.get(directory) ??
          watchDirectory(open(directory), onEvent);
        if (watch === undefined) continue;
        watches.set(directory, watch);
        watch.names.add(name);
      }
      for (const [directory, watch] of [...watches]) {
        if (watch.names.size === 0) end(directory, watch);
      }
    },
    async stop() {
      for (const [directory, watch] of [...watches]) end(directory, watch);
      await Promise.all(ended);
    },
  };
}

/** The events of a directory; `undefined` where it cannot be watched. */
function watchDirectory(
  watcher: Watcher | undefined,
  onEvent: () => void,
): DirectoryWatch | undefined {
  if (watcher === undefined) return undefined;
  const names = new Set<string>();
  const follow = async () => {
    for await (const event of watcher) {
      // Reading a file is an event too, and every change makes somebody read it.
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

/** Kubernetes switches the link `..data`, through which the files' own names lead. */
function concerns(changed: string, names: ReadonlySet<string>): boolean {
  const changedName = splitPath(changed)[1];
  return names.has(changedName) || changedName.startsWith("..");
}

function splitPath(path: string): readonly [directory: string, name: string] {
  const parts = path.split(/[/\\]/);
  const name = parts.pop() ?? "";
  return [parts.join("/") || (path.startsWith("/") ? "/" : "."), name];
}
