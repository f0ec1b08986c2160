/** Looks at files again and again. */
export interface FilesPoll {
  /** Changes which files are looked at. */
  follow(paths: ReadonlySet<string>): void;
  /** Resolves when it looks no more. */
  stop(): Promise<void>;
}

/** How {@linkcode pollFiles} looks. */
export interface PollOptions {
  /** Between two looks, in milliseconds. */
  readonly pollMs: number;
  /** What is seen of a file; another text means that it may have changed. Never rejects. */
  readonly look: (path: string) => Promise<string>;
  readonly onChange: () => void;
}

/** Looks at files themselves. */
export function pollFiles(
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
