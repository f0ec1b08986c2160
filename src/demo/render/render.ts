import type { Ids } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Ask } from "../ask/ask.ts";
import type { Script } from "../script.ts";

/** What a renderer needs beside the script. */
export interface RenderContext {
  readonly ids: Ids;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly ask: Ask;
  /** The request as it came, for the fields that an answer repeats. */
  readonly body: JsonObject;
}

/** The words of `script` in all: how long a provider thinks about an answer that it sends whole. */
export function wordCountOf(script: Script): number {
  return script.blocks.reduce((count, block) => {
    const text = block.kind === "call" ? block.input : block.text;
    return count + text.split(/\s+/).length;
  }, 0);
}
