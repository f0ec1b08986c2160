/* The most that the gateway holds of one stream. A larger answer fails as oversized. */

/** The most blocks of one answer. */
export const MAX_BLOCKS = 1024;

/** The most characters of one answer that a stage may hold. */
export const MAX_HELD_CHARACTERS = 64 * 1024 * 1024;

/**
 * The most bytes of a stream without any output, after decompression. It is far more than one event may have, but a few
 * hundred compressed bytes can exceed it.
 */
export const MAX_EMPTY_BYTES: number = 16 * 1024 * 1024;

/** The most characters of one event of an upstream's stream. A large image in base64 fits, and takes about 40 ms. */
export const MAX_FRAME_CHARACTERS = 8 * 1024 * 1024;
