import { type Random, randomFrom } from "../../support/fakes/random.ts";

/** The number of numbers after which those of similar seeds have nothing in common. */
const WARM_UP = 12;

/** The randomness of a history, a source for each actor: without one of them, the others still do what they did. */
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
   * Returns the source of an actor that serves others, such as a provider. Its numbers depend on the moment, so that
   * those who came before change nothing.
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

/** Numbers of `sfc32`, whose 128 bits of state let different seeds never meet (https://pracrand.sourceforge.net). */
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
