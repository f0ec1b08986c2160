/** Hears of what happens in directories. */
export interface DirectoriesWatch {
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
export interface Watcher
  extends AsyncIterable<{ readonly kind: string; readonly paths: string[] }> {
  close(): void;
}

/** How {@linkcode watchDirectories} watches. */
export interface DirectoriesOptions {
  /** Begins to watch a directory; `undefined` where that cannot be. */
  readonly open: (directory: string) => Watcher | undefined;
  readonly onEvent: () => void;
}

/** Watches the directories of files, each once; one that cannot be watched is left out. */
export function watchDirectories(
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
