/** How long the part of a canary is that no other text has. */
const UNIQUE_LENGTH = 36;

/** A text that must not come out somewhere; fit for a token, a key, a header or a prompt. */
export function createCanary(name: string): string {
  return `canary-${name}-${crypto.randomUUID()}`;
}

/** The names of the canaries that stand in a text, whole or without their beginning. */
export function findCanaries(
  text: string,
  canaries: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(canaries)
    .filter(([, canary]) => text.includes(canary.slice(-UNIQUE_LENGTH)))
    .map(([name]) => name);
}
