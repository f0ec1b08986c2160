import type { Ids } from "@gateway/base/ids";
import type { Protocol } from "@gateway/base/protocol";
import type { AnswerContext, CallerCodec } from "../canonical/codec.ts";
import type { RememberedReasoning } from "../canonical/answer/remembered_reasoning.ts";
import type { AnswerEvent } from "../canonical/stream/event.ts";
import type { AnswerEdits } from "../canonical/tools/restore_tools.ts";
import { CODECS } from "../codecs.ts";
import {
  type BodyFold,
  createBodyDecoder,
  createBodyFold,
} from "../decode_body.ts";
import {
  createTranslator,
  editAnswer,
  type Translator,
} from "../translate_stream.ts";
import { createReasoningWatch } from "./reasoning_watch.ts";

/** A streamed answer to translate. */
interface StreamJob {
  /** The codec of the caller, as `callerCodec` returns it. */
  readonly from: CallerCodec;
  /** The upstream's protocol. */
  readonly to: Protocol;
  /** The changes that the translation of the request requires in the answer. */
  readonly edits: AnswerEdits;
  readonly context: AnswerContext;
  /** Called for each event before it is encoded. */
  readonly observe?: ((event: AnswerEvent) => void) | undefined;
  /** Called at the end of an answer if the upstream needs reasoning back with the results of its calls. */
  readonly remember?: ((reasoning: RememberedReasoning) => void) | undefined;
}

/** Opens the translation of one stream. The translator decodes, edits and encodes the answer. */
export function openTranslator(
  { from, to, edits, context, observe, remember }: StreamJob,
): Translator {
  const watch = createReasoningWatch(from, context);
  return createTranslator({
    decoder: createBodyDecoder(CODECS[to], context.ids),
    between: editAnswer(edits, context.ids),
    encoder: from.createStreamEncoder(context),
    observe(event) {
      watch.see(event);
      observe?.(event);
      const reasoning = event.type === "end" ? watch.reasoning() : undefined;
      if (reasoning !== undefined) remember?.(reasoning);
    },
  });
}

/** Opens a fold that collects an upstream's streamed answer into a whole answer, for {@linkcode AnswerJob}. */
export function openFold(to: Protocol, ids: Ids): BodyFold {
  return createBodyFold(createBodyDecoder(CODECS[to], ids));
}
