import { type Random, randomFrom } from "../../support/fakes/random.ts";

/** The count of first numbers to skip: those of similar seeds are alike. */
const WARM_UP = 12;

/**
 * The random numbers of a history, with a source for each actor. When an actor is left out, the others keep their
 * numbers.
 */
export class Streams {
  readonly #seed: number;
  readonly #elapsedMs: () => number;

  /** @param elapsedMs Returns the virtual time. */
  constructor(seed: number, elapsedMs: () => number) {
    this.#seed = seed;
    this.#elapsedMs = elapsedMs;
  }

  /** Returns the source of an actor that acts by itself, such as a person. */
  of(name: string): Random {
    const numbers = new Numbers(this.#seed, hashOf(name), 0);
    return randomFrom(() => numbers.next());
  }

  /**
   * Returns the source of an actor that serves others, such as a provider. Its numbers depend on the moment, not on
   * earlier requests.
   */
  atMoments(name: string): Random {
    const hash = hashOf(name);
    let atMs = -1;
    let numbers = new Numbers(this.#seed, hash, 0);
    return randomFrom(() => {
      const nowMs = Math.floor(this.#elapsedMs());
      if (nowMs !== atMs) {
        atMs = nowMs;
        numbers = new Numbers(this.#seed, hash, 1 + nowMs);
      }
      return numbers.next();
    });
  }
}

/**
 * Returns numbers of `sfc32`. With its 128 bits of state, different seeds never meet
 * (https://pracrand.sourceforge.net).
 */
class Numbers {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(a: number, b: number, c: number) {
    [this.#a, this.#b, this.#c] = [a | 0, b | 0, c | 0];
    for (let times = 0; times < WARM_UP; times++) this.next();
  }

  next(): number {
    const next = (this.#a + this.#b + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21 | this.#c >>> 11) + next) | 0;
    return next >>> 0;
  }
}

/** Returns the hash of a name (FNV-1a). */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return hash;
}
