/** A watch that can be ended. */
export interface FileWatch {
  /** Ends the watch; once it resolves, no timer and no system resource of it is left. */
  stop(): Promise<void>;
}

/** How {@linkcode watchFile} watches. */
export interface WatchOptions {
  /** Called when the file may have changed; also when it went or came back. */
  readonly onChange: () => void;
  /** Quiet time after the last sign of a change, in milliseconds, so that a file is written out. */
  readonly quietMs?: number;
  /** At most this long after the first sign, in milliseconds, however unquiet it stays. */
  readonly longestMs?: number;
  /** Between two looks at the file's own data, in milliseconds. */
  readonly pollMs?: number;
}

/** A time stamp this young does not yet tell two writes apart, in milliseconds. */
const YOUNG_MS = 2_000;

/**
 * Watches a file by name, whatever stands there: written in place, replaced by renaming, deleted and
 * made anew, or reached through symbolic links that are switched (as Kubernetes does).
 *
 * Events of the directory make it quick; looking at the file's inode, size and time every second finds
 * what gives no event here: a link's target elsewhere, a network file system, a directory that cannot
 * be watched.
 */
export function watchFile(path: string, options: WatchOptions): FileWatch {
  const { quietMs = 100, longestMs = 1_000, pollMs = 1_000 } = options;
  const settle = createSettle(options.onChange, { quietMs, longestMs });
  const events = watchDirectory(path, settle.touch);
  const poll = pollFile(path, { pollMs, onChange: settle.touch });
  return {
    async stop() {
      events?.close();
      await Promise.all([events?.finished, poll.stop()]);
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

/** The events around a file; `undefined` where its directory cannot be watched. */
function watchDirectory(path: string, onEvent: () => void) {
  const [directory, name] = splitPath(path);
  const watcher = openWatcher(directory);
  if (watcher === undefined) return undefined;
  const follow = async () => {
    for await (const event of watcher) {
      // Reading the file is an event too, and every change makes somebody read it.
      if (event.kind === "access") continue;
      if (event.paths.some((changed) => concerns(changed, name))) onEvent();
    }
  };
  return { finished: follow().catch(() => {}), close: () => watcher.close() };
}

function openWatcher(directory: string): Deno.FsWatcher | undefined {
  try {
    return Deno.watchFs(directory, { recursive: false });
  } catch {
    return undefined;
  }
}

/** Kubernetes switches the link `..data`, through which the file's own name leads. */
function concerns(changed: string, name: string): boolean {
  const changedName = splitPath(changed)[1];
  return changedName === name || changedName.startsWith("..");
}

function splitPath(path: string): readonly [directory: string, name: string] {
  const parts = path.split(/[/\\]/);
  const name = parts.pop() ?? "";
  return [parts.join("/") || (path.startsWith("/") ? "/" : "."), name];
}

/** Looks at the file's own data again and again. */
function pollFile(
  path: string,
  { pollMs, onChange }: {
    readonly pollMs: number;
    readonly onChange: () => void;
  },
) {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let known: string | undefined;

  async function look(): Promise<void> {
    const seen = await fingerprint(path);
    if (stopped) return;
    if (known !== undefined && seen !== known) onChange();
    known = seen;
    timer = setTimeout(() => {
      looking = look();
    }, pollMs);
  }

  let looking = look();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

/** Two equal fingerprints mean one content; a young file has none that can be relied upon. */
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
