/**
 * How long a request may run before its caller is followed, in milliseconds. An upstream is let go within 100 ms of its
 * caller's leaving; most of what ends sooner than this comes from a provider's cache or is an error.
 */
const FOLLOW_AFTER_MS = 50;

/** The first version of Deno that is known to tell a late listener at once that a caller has left; 2.7 never does. */
const TELLS_LATE = { major: 2, minor: 9 };

/**
 * How long the platform lets a request run before its caller is followed, in milliseconds; 0 means that it must be
 * followed at once.
 *
 * @param version Of Deno, such as `2.9.6`.
 */
export function followAfterMs(version: string): number {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const tellsLate = major > TELLS_LATE.major ||
    major === TELLS_LATE.major && minor >= TELLS_LATE.minor;
  return tellsLate ? FOLLOW_AFTER_MS : 0;
}
