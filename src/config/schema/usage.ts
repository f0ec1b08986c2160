import { z } from "zod";

/** More than one host has logs of. */
const MAX_PATTERNS = 32;

const MAX_PATTERN_LENGTH = 4096;

/** `usage`. */
export const usageSchema = z.strictObject({
  replay: z.array(z.string().min(1).max(MAX_PATTERN_LENGTH)).max(MAX_PATTERNS)
    .default([]).describe(
      "The gateway's own logs, as paths with wildcards: what they say was used is counted at the start.",
    ),
});
