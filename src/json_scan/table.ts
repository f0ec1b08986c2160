/** From here on, what the table gives is a step and no state. */
export const FIRST_STEP = 192;
/** The step of a byte that does not belong there. */
const FAULT = FIRST_STEP;

/**
 * So many states at the beginning of a character of a string; they are the lowest ones, so that they are soon told
 * from others.
 */
export const TEXT_STATES = 5;

const BYTES = 256;

/** What a byte leads to, at `state * 256 + byte`: a state, or a step that takes more than that. */
export const NEXT: Uint8Array = new Uint8Array(FIRST_STEP * BYTES).fill(FAULT);

let states = TEXT_STATES;

/** A state from which nothing leads on yet. */
export function newState(): number {
  return states++;
}

/** A state from which everything leads on as it does from another. */
export function newStateLike(other: number): number {
  const state = newState();
  NEXT.copyWithin(state * BYTES, other * BYTES, (other + 1) * BYTES);
  return state;
}

/** Characters of ASCII lead from a state to the next. */
export function allow(state: number, characters: string, next: number): void {
  for (const character of characters) {
    NEXT[state * BYTES + character.charCodeAt(0)] = next;
  }
}

/** Bytes from the first to the last lead from a state to the next. */
export function allowBytes(
  state: number,
  [first, last]: readonly [number, number],
  next: number,
): void {
  NEXT.fill(next, state * BYTES + first, state * BYTES + last + 1);
}
