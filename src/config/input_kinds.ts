/** What a model may take beside other things, in the words of the configuration. */
export const INPUT_KINDS = ["text", "image", "pdf", "audio"] as const;

/** A kind of what a model may take. */
export type InputKind = typeof INPUT_KINDS[number];
