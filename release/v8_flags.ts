/**
 * How V8 is to manage memory. Nearly everything that a request makes is garbage a few milliseconds later:
 *
 * - the young generation is large from the start, so that it is cleared rarely, when little in it is still in use;
 * - no literal is put among the old objects at once, which V8 takes to where much of what was made there outlived some
 *   collections. One burst of requests makes it do so for good, and then what such objects lead to, though nobody uses
 *   either any more, is kept and copied until all of memory is gone through: a fifth of the instructions of a short
 *   request.
 */
export const V8_FLAGS =
  "--v8-flags=--min-semi-space-size=16,--max-semi-space-size=32,--no-allocation-site-pretenuring";
