import { pollFiles } from "./poll_files.ts";
import { watchDirectories, type Watcher } from "./watch_directories.ts";

/** A watch of files that can be ended. */
export interface FilesWatch {
  /** Changes which files are watched. */
  follow(paths: ReadonlySet<string>): void;
  /** Ends the watch; once it resolves, no timer and no system resource of it is left. */
  stop(): Promise<void>;
}

/** How {@linkcode watchFiles} watches. */
export interface WatchOptions {
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
