/** The news of a session of a caller. Threads send such news to each other. */
export interface SessionNews {
  /** The name of the caller. */
  readonly caller: string;
  /** The client's id of the session. */
  readonly session: string;
}

/** The latest sessions of callers, with the ids that the log shows. */
interface RecentSessions {
  /** Notes a request in a session. */
  note(news: SessionNews): void;
  /** Notes a session of another thread. */
  follow(news: SessionNews): void;
  /** Returns the sessions of a caller, the latest last. */
  of(caller: string): readonly string[];
}

/** The largest number of sessions that are listed for one caller. Older sessions are still counted. */
const MAX_SESSIONS = 64;

const MAX_CALLERS = 2000;

/**
 * Creates an empty collection.
 *
 * @param publish Sends a session that is new in this thread to the other threads.
 */
export function createRecentSessions(
  publish?: (news: SessionNews) => void,
): RecentSessions {
  const byCaller = new Map<string, Set<string>>();

  /** Adds a session, and returns true when the session is new. */
  function add({ caller, session }: SessionNews): boolean {
    const own = byCaller.get(caller) ?? new Set();
    byCaller.delete(caller);
    byCaller.set(caller, own);
    const isNew = !own.delete(session);
    own.add(session);
    dropFirst(own, MAX_SESSIONS);
    dropFirst(byCaller, MAX_CALLERS);
    return isNew;
  }

  return {
    note(news) {
      if (add(news)) publish?.(news);
    },
    follow: (news) => void add(news),
    of: (caller) => [...byCaller.get(caller) ?? []],
  };
}

function dropFirst(
  all: Set<string> | Map<string, unknown>,
  most: number,
): void {
  const [first] = all.keys();
  if (all.size > most && first !== undefined) all.delete(first);
}
