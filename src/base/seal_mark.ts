/**
 * The prefix of a text that the gateway seals for a caller. The digit is the version of the content. The scan of a body
 * looks for this prefix, because no provider can read a sealed text.
 */
export const SEAL_MARK = "mg1.";
