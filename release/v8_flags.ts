/**
 * How V8 is to manage memory. Nearly everything that a request makes is garbage some milliseconds later:
 *
 * - The young generation is large from the start: it is cleared less often, and then little in it is still in use.
 * - Nothing new is put among the old objects. V8 does that with objects of kinds that have outlived some collections,
 *   as they do in a burst of requests soon after the start, and never stops doing it. Each of them then keeps all that
 *   it leads to, and has it copied, until the old objects are collected too: a fifth of what a short request takes.
 */
export const V8_FLAGS =
  "--v8-flags=--min-semi-space-size=16,--max-semi-space-size=32,--no-allocation-site-pretenuring";
