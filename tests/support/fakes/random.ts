/** A source of random numbers that a test can repeat. */
export interface Random {
  /** Returns a whole number from 0 up to but not including `bound`. */
  below(bound: number): number;
  /** Returns one of `choices`, which must not be empty. */
  pick<Choice>(choices: readonly Choice[]): Choice;
}

/** Creates a source that returns the same numbers for the same `seed` (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return randomFrom(() => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  });
}

/** Creates a source of numbers. @param next Returns any whole number from 0 up to but not including 2 ** 32. */
export function randomFrom(next: () => number): Random {
  return {
    below: (bound) => next() % bound,
    pick(choices) {
      const choice = choices[next() % choices.length];
      if (choice === undefined) {
        throw new RangeError("Cannot pick: there are no choices.");
      }
      return choice;
    },
  };
}
