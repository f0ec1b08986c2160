/* The most that the gateway holds of one stream. A larger answer fails as oversized. */

/** The most blocks of one answer. */
export const MAX_BLOCKS = 1024;

/** The most characters of one answer that a stage of the translation may hold in memory. */
export const MAX_HELD_CHARACTERS = 64 * 1024 * 1024;

/**
 * The most bytes, after decompression, that a stream may send without any output. This is twice `MAX_FRAME_CHARACTERS`,
 * but a few hundred compressed bytes may decompress to more.
 */
export const MAX_EMPTY_BYTES: number = 16 * 1024 * 1024;

/** The most characters of one event of an upstream's stream. A large image in base64 fits, and takes about 40 ms. */
export const MAX_FRAME_CHARACTERS = 8 * 1024 * 1024;
