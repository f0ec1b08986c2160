/**
 * The beginning of what the gateway seals for a caller; the number is the version of the content. The scan of a body
 * finds it, since no provider reads such a seal.
 */
export const SEAL_MARK = "mg1.";
