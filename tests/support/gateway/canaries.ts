/** The length of the unique part of a canary, in characters. */
const UNIQUE_LENGTH = 36;

/** Creates a unique text to search for in outputs. It is valid as a token, a key, a header and a prompt. */
export function createCanary(name: string): string {
  return `canary-${name}-${crypto.randomUUID()}`;
}

/** Returns the names of the canaries in a text, even of those whose beginning is cut. */
export function findCanaries(
  text: string,
  canaries: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(canaries)
    .filter(([, canary]) => text.includes(canary.slice(-UNIQUE_LENGTH)))
    .map(([name]) => name);
}
