import type { JsonObject } from "../../../../src/base/json.ts";
import type { Ids } from "../../../../src/base/ids.ts";
import type { AskOfBody } from "./ask.ts";
import { type Step, write } from "../../../../src/tools/demo/speak.ts";

/** The facts that a renderer needs in addition to the script. */
export interface StrictContext {
  readonly ids: Ids;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly ask: AskOfBody & { readonly model: string };
  /** The body of the request, for the fields that an answer repeats. */
  readonly body: JsonObject;
}

/** A script in the shape of a protocol. */
export interface StrictRendering {
  /** The whole answer, for requests without a stream. */
  readonly whole: object;
  /** The answer as a stream; `undefined` for an operation that has none. */
  readonly stream: {
    steps(): Iterable<Step>;
    /** Returns the steps that report a failure after `stepCount` steps. */
    failure(stepCount: number): Iterable<Step>;
  } | undefined;
}

/** Returns a step that writes an SSE event without a name, as in Chat Completions. */
export function writeData(data: object, wordCount = 0): Step {
  return write(`data: ${JSON.stringify(data)}\n\n`, wordCount);
}

/** An event of a protocol that names its events. */
interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Returns a step that writes an SSE event named by its `type`, as in Messages and Responses. */
export function writeEvent(event: NamedEvent, wordCount = 0): Step {
  return write(
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    wordCount,
  );
}
