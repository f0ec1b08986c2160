/**
 * V8's settings.
 *
 * Nearly all objects of a request are garbage some milliseconds later:
 *
 * - The young generation is large from the start. It is collected less often, and few of its
 *   objects are then still in use.
 * - V8 allocates no new object among the old ones (pretenuring). By default, it does so for kinds
 *   of objects that have survived some collections. A burst of requests soon after the start causes
 *   that, and it never ends. Each such object keeps everything that it references until the old
 *   objects are collected, too. That costs a fifth of the time of a short request.
 *
 * A request calls most functions once or a few times. By default, V8 compiles one with its best compiler after 3,000
 * calls at least, so a gateway needs some 17,000 requests until it is fast. With 400, it needs 3,000.
 */
export const V8_FLAGS =
  "--v8-flags=--min-semi-space-size=16,--max-semi-space-size=32,--no-allocation-site-pretenuring,--invocation-count-for-turbofan=400";
