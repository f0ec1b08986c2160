/** Bounds on what one stream may make the gateway hold; past them the answer is oversized. */

/** Most blocks of one answer. */
export const MAX_BLOCKS = 1024;

/** Most characters of one answer that a stage may hold back or gather. */
export const MAX_HELD_CHARACTERS = 64 * 1024 * 1024;

/** Most characters of one event of an upstream's stream: a large picture in base64 fits, and takes some 40 ms. */
export const MAX_FRAME_CHARACTERS = 8 * 1024 * 1024;
