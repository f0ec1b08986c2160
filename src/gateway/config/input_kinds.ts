/** The inputs that a model may accept, as the configuration names them. */
export const INPUT_KINDS = ["text", "image", "pdf", "audio"] as const;

/** An input that a model may accept. */
export type InputKind = typeof INPUT_KINDS[number];
