import type { SseFrame } from "@gateway/base/frame";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type {
  Citation,
  ReasoningForm,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import { Paragraphs } from "../../canonical/answer/readable.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import type { AnswerContext, StreamEncoder } from "../../canonical/codec.ts";
import { asStreamError } from "../../canonical/failure/failure.ts";
import { MAX_BLOCKS } from "../../canonical/max_sizes.ts";
import type {
  AnswerEvent,
  BlockHead,
  EndEvent,
  StartEvent,
} from "../../canonical/stream/event.ts";
import { encodeCitation } from "../answer/citation.ts";
import {
  answerId,
  createdSeconds,
  logprobsOf,
  wantsLogprobs,
} from "../answer/encode.ts";
import {
  detailsForCaller,
  extraOfSealed,
} from "../answer/reasoning_details.ts";
import { encodeUsage } from "../answer/usage.ts";
import { errorObject } from "../errors.ts";
import { isLegacyCaller, legacyCall, stopForCaller } from "../tools/decode.ts";

/** Encodes a Chat Completions stream. An event becomes at most one chunk. Only the end becomes several chunks. */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  const deltas = new DeltaWriter(context);
  let chunks: ChunkWriter | undefined;
  return {
    push(event, emit) {
      if (event.type === "start") chunks = createChunkWriter(event, context);
      const delta = deltas.write(event);
      if (delta !== undefined && chunks !== undefined) {
        const isDelta = event.type === "block-delta";
        emit(chunks.chunkOf(delta, isDelta ? event.logprobs : undefined));
      }
      if (event.type === "end") chunks?.end(event).forEach(emit);
      if (event.type === "failure") {
        const error = errorObject(asStreamError(event.failure));
        emit({ event: "error", data: JSON.stringify({ error }) });
      }
    },
    end() {},
    keepAlive: (emit) => emit({ comment: "keep-alive" }),
  };
}

/** Writes the chunks of one answer. The fields that all chunks have in common are formatted once. */
interface ChunkWriter {
  /** Returns the chunk that holds `delta`, which is JSON text, and the log probabilities of the delta's tokens. */
  chunkOf(
    delta: string,
    logprobs?: readonly TokenLogprob[] | undefined,
  ): SseFrame;
  /** Returns the last frames: the finish reason, the usage and `[DONE]`. */
  end(event: EndEvent): SseFrame[];
}

/**
 * Creates a writer for the answer that `start` begins. Some clients fail on a chunk without choices, such as the chunk
 * of the usage. So the usage is sent only for `stream_options.include_usage`.
 */
function createChunkWriter(
  start: StartEvent,
  context: AnswerContext,
): ChunkWriter {
  const wantsUsage = asksForUsage(context);
  const hasLogprobs = wantsLogprobs(context);
  const common = JSON.stringify({
    id: answerId(start.id, context),
    object: "chat.completion.chunk",
    created: createdSeconds(start.createdAtMs, context),
    model: context.model,
  }).slice(0, -1);
  const head = `${common},"choices":[{"index":0,"delta":`;
  const tail = tailOf("null");

  function tailOf(reason: string, logprobs = "null"): string {
    const usage = wantsUsage ? `,"usage":null` : "";
    return `,"logprobs":${logprobs},"finish_reason":${reason}}]${usage}}`;
  }

  return {
    chunkOf(delta, logprobs) {
      if (logprobs === undefined || !hasLogprobs) {
        return { data: head + delta + tail };
      }
      const logprobsText = JSON.stringify(logprobsOf(logprobs));
      return { data: head + delta + tailOf("null", logprobsText) };
    },
    end({ stop, usage }) {
      const frames: SseFrame[] = [
        {
          data: `${head}{}${
            tailOf(JSON.stringify(stopForCaller(stop, context)))
          }`,
        },
      ];
      if (wantsUsage && usage !== undefined) {
        const counts = JSON.stringify(encodeUsage(usage));
        frames.push({ data: `${common},"choices":[],"usage":${counts}}` });
      }
      frames.push({ data: "[DONE]" });
      return frames;
    },
  };
}

function asksForUsage(context: AnswerContext): boolean {
  const options = context.request.extras.chat?.stream_options?.value;
  return isJsonObject(options) && options.include_usage === true;
}

/** A block whose deltas are still arriving. */
interface OpenBlock {
  readonly kind: BlockHead["kind"];
  /** The index of a call among the tool calls of the answer; -1 if the block is not a call. */
  readonly call: number;
  /** True when some text of the block has been written. */
  hasText: boolean;
  /** The position in the content at which the block's text starts. */
  start: number;
  /**
   * The citations without an end. They are written when the block ends, because they reach to the end of the block.
   */
  readonly citations: Citation[];
  /** The readable parts of reasoning. */
  readonly parts: { readonly form: ReasoningForm; text: string }[];
}

/** Converts the events of one answer to deltas as JSON text. */
class DeltaWriter {
  readonly #context: AnswerContext;
  readonly #isLegacy: boolean;
  readonly #blocks: (OpenBlock | undefined)[] = [];
  readonly #content = new Paragraphs();
  readonly #reasoning = new Paragraphs();
  #nextCall = 0;
  /** The length of the content so far. */
  #length = 0;
  #hasRefusal = false;
  /** The number of blocks with sealed reasoning so far. */
  #sealCount = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#isLegacy = isLegacyCaller(context);
  }

  /** Returns the delta for an event, or `undefined` if the event adds no delta. */
  write(event: AnswerEvent): string | undefined {
    switch (event.type) {
      case "block-delta":
        return this.#add(this.#blocks[event.index], event.text);
      case "start":
        return `{"role":"assistant","content":"","refusal":null}`;
      case "block-start":
        return this.#begin(event.index, event.block);
      case "block-part":
        this.#reasoning.part();
        this.#blocks[event.index]?.parts.push({ form: event.form, text: "" });
        return undefined;
      case "block-citation":
        return this.#cite(this.#blocks[event.index], event.citation);
      case "block-seal":
        return this.#seal(this.#blocks[event.index], event.sealed);
      case "block-end":
        return this.#finish(event.index);
      case "end":
        return this.#explain(event.stop.explanation);
      case "failure":
        return undefined;
    }
  }

  #begin(index: number, block: BlockHead): string | undefined {
    const isCall = block.kind === "function_call" ||
      block.kind === "custom_call";
    const call = isCall ? this.#nextCall++ : -1;
    this.#blocks[index] = {
      kind: block.kind,
      call,
      hasText: false,
      start: this.#length,
      citations: [],
      parts: [],
    };
    if (block.kind !== "text" || block.message !== undefined) {
      this.#content.part();
    }
    if (block.kind === "opaque") this.#context.drop(block.type);
    if (!isCall) return undefined;
    return this.#isLegacy
      ? this.#beginLegacy(block, call)
      : JSON.stringify({ tool_calls: [callHead(block, call)] });
  }

  /** Begins a call for a caller of the deprecated `functions`. Such a caller can receive only one call. */
  #beginLegacy({ name }: { name: string }, call: number): string | undefined {
    if (call === 0) return JSON.stringify(legacyCall(name, ""));
    this.#context.drop("tool_calls");
    return undefined;
  }

  #addArguments(call: number, json: string): string | undefined {
    if (!this.#isLegacy) return argumentsDelta(call, json);
    return call === 0
      ? JSON.stringify({ function_call: { arguments: json } })
      : undefined;
  }

  #add(block: OpenBlock | undefined, text: string): string | undefined {
    if (block === undefined) return undefined;
    const isFirst = !block.hasText;
    block.hasText = true;
    switch (block.kind) {
      case "text": {
        // Later text of a block continues its first text, even after other blocks.
        const content = isFirst ? this.#content.join(text) : text;
        this.#length += content.length;
        if (isFirst) block.start = this.#length - text.length;
        return `{"content":${JSON.stringify(content)}}`;
      }
      case "reasoning": {
        const part = block.parts.at(-1);
        if (part !== undefined) part.text += text;
        const reasoning = this.#reasoning.join(text);
        return `{"reasoning_content":${JSON.stringify(reasoning)}}`;
      }
      case "refusal":
        this.#hasRefusal = true;
        return `{"refusal":${JSON.stringify(text)}}`;
      case "function_call":
        return this.#addArguments(block.call, text);
      case "custom_call":
        return `{"tool_calls":[{"index":${block.call},"custom":{"input":${
          JSON.stringify(text)
        }}}]}`;
      case "opaque":
        return undefined;
    }
  }

  /**
   * Writes a citation. A citation without an end is written when the block ends, because it reaches to the end of the
   * block.
   */
  #cite(block: OpenBlock | undefined, citation: Citation): string | undefined {
    if (block === undefined) return undefined;
    const isOpenEnded = citation.endIndex === undefined;
    if (!isOpenEnded || block.citations.length >= MAX_BLOCKS) {
      return this.#annotate(block, [citation]);
    }
    block.citations.push(citation);
    return undefined;
  }

  #annotate(
    { start }: OpenBlock,
    citations: readonly Citation[],
  ): string | undefined {
    const place = { start, end: this.#length };
    const written = citations.map((one) => encodeCitation(one, place));
    if (written.includes(undefined)) this.#context.drop("citation");
    const annotations = written.filter((one) => one !== undefined);
    return annotations.length === 0
      ? undefined
      : JSON.stringify({ annotations });
  }

  #seal(block: OpenBlock | undefined, sealed: Sealed): string | undefined {
    if (block !== undefined && block.call >= 0) {
      if (this.#isLegacy) return undefined;
      const extra_content = extraOfSealed(sealed);
      return extra_content && JSON.stringify({
        tool_calls: [{ index: block.call, extra_content }],
      });
    }
    const details = detailsForCaller(
      sealed,
      { position: this.#sealCount++, parts: block?.parts ?? [] },
      this.#context.connectionId,
    );
    return JSON.stringify({ reasoning_details: details });
  }

  /** Ends a block. A call without arguments gets an empty object, since clients parse the arguments. */
  #finish(index: number): string | undefined {
    const block = this.#blocks[index];
    this.#blocks[index] = undefined;
    if (block?.kind === "text") return this.#annotate(block, block.citations);
    return block?.kind === "function_call" && !block.hasText
      ? this.#addArguments(block.call, "{}")
      : undefined;
  }

  /** Returns the provider's explanation as a refusal, unless the model has written a refusal. */
  #explain(explanation: string | undefined): string | undefined {
    return explanation === undefined || this.#hasRefusal
      ? undefined
      : JSON.stringify({ refusal: explanation });
  }
}

function argumentsDelta(call: number, json: string): string {
  return `{"tool_calls":[{"index":${call},"function":{"arguments":${
    JSON.stringify(json)
  }}}]}`;
}

/** Returns the first piece of a call, with everything but its arguments. */
function callHead(
  block: Extract<BlockHead, { kind: "function_call" | "custom_call" }>,
  index: number,
): JsonObject {
  const { id, name } = block;
  if (block.kind === "custom_call") {
    return { index, id, type: "custom", custom: { name, input: "" } };
  }
  return { index, id, type: "function", function: { name, arguments: "" } };
}
