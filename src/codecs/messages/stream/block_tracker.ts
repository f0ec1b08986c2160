import { wordSet } from "@gateway/base/collections";
import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  objectsOf,
  parseJson,
} from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { AnswerEvent, BlockHead } from "../../canonical/stream/event.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import { argumentsText } from "../../canonical/tools/tool.ts";
import {
  decodeCitation,
  opaqueBlock,
  sealedOfRedacted,
  sealedOfSignature,
} from "../request/blocks.ts";
import { metadataOf, optionalText } from "../request/fields.ts";

/** Converts the events of one block to canonical events. Fields that a tracker does not know are ignored. */
export interface BlockTracker {
  /** Reads a `delta`. */
  push(delta: JsonObject, emit: Emit<AnswerEvent>): void;
  /** Ends the block. */
  stop(emit: Emit<AnswerEvent>): void;
  /** Returns the number of characters held back. */
  held(): number;
}

/** The dependencies of a tracker. */
export interface BlockTrackerOptions {
  /** The source of ids for calls without an id. */
  readonly ids: Ids;
  /** Begins a canonical block and returns its index. */
  open(block: BlockHead, emit: Emit<AnswerEvent>): number;
}

const CALL_FIELDS = wordSet("type id name input");

/** Begins the block of a `content_block_start`. This event may hold none, some or all of the content. */
export function trackBlock(
  block: JsonObject,
  options: BlockTrackerOptions,
  emit: Emit<AnswerEvent>,
): BlockTracker {
  switch (block.type) {
    case "text":
      return trackText(block, options, emit);
    case "thinking":
    case "redacted_thinking":
      return trackThinking(block, options, emit);
    case "tool_use":
      return trackCall(block, options, emit);
    default:
      return trackOpaque(block, options);
  }
}

function trackText(
  block: JsonObject,
  { open }: BlockTrackerOptions,
  emit: Emit<AnswerEvent>,
): BlockTracker {
  const index = open({ kind: "text" }, emit);
  const tracker: BlockTracker = {
    held: () => 0,
    push(delta, emit) {
      if (typeof delta.text === "string" && delta.text !== "") {
        emit({ type: "block-delta", index, text: delta.text });
      } else if (isJsonObject(delta.citation)) {
        const citation = decodeCitation(delta.citation);
        emit({ type: "block-citation", index, citation });
      }
    },
    stop: (emit) => emit({ type: "block-end", index }),
  };
  tracker.push({ text: block.text }, emit);
  for (const citation of objectsOf(block.citations)) {
    tracker.push({ citation }, emit);
  }
  return tracker;
}

/**
 * Tracks thinking. A signature never arrives in pieces. If several signatures arrive, the last one counts, as in the
 * SDK.
 */
function trackThinking(
  block: JsonObject,
  { open }: BlockTrackerOptions,
  emit: Emit<AnswerEvent>,
): BlockTracker {
  const index = open({ kind: "reasoning" }, emit);
  let sealed: Sealed | undefined = block.type === "redacted_thinking"
    ? sealedOfRedacted(optionalText(block.data) ?? "")
    : undefined;
  let hasPart = false;
  const tracker: BlockTracker = {
    held: () => 0,
    push({ thinking, signature }, emit) {
      if (typeof thinking === "string" && thinking !== "") {
        if (!hasPart) emit({ type: "block-part", index, form: "raw" });
        hasPart = true;
        emit({ type: "block-delta", index, text: thinking });
      }
      if (typeof signature === "string" && signature !== "") {
        sealed = sealedOfSignature(signature);
      }
    },
    stop(emit) {
      if (sealed !== undefined) emit({ type: "block-seal", index, sealed });
      emit({ type: "block-end", index });
    },
  };
  tracker.push(block, emit);
  return tracker;
}

/** Tracks a call. Its arguments arrive in pieces or at the start. For a call without arguments, nothing may arrive. */
function trackCall(
  block: JsonObject,
  { ids, open }: BlockTrackerOptions,
  emit: Emit<AnswerEvent>,
): BlockTracker {
  const id = optionalText(block.id) || ids.next("toolu");
  const name = optionalText(block.name) ?? "";
  const providerMetadata = metadataOf(block, CALL_FIELDS);
  const index = open(
    { kind: "function_call", id, name, providerMetadata },
    emit,
  );
  let initialInput = argumentsText(block.input) || "{}";
  return {
    held: () => initialInput.length,
    push({ partial_json }, emit) {
      if (typeof partial_json !== "string" || partial_json === "") return;
      initialInput = "";
      emit({ type: "block-delta", index, text: partial_json });
    },
    stop(emit) {
      if (initialInput !== "") {
        emit({ type: "block-delta", index, text: initialInput });
      }
      emit({ type: "block-end", index });
    },
  };
}

/** Tracks a block that only this protocol has. The block is emitted when all of it has arrived. */
function trackOpaque(
  block: JsonObject,
  { open }: BlockTrackerOptions,
): BlockTracker {
  const value = { ...block };
  let input = "";
  let held = JSON.stringify(block).length;
  return {
    held: () => held,
    push({ type: _type, ...delta }) {
      held += JSON.stringify(delta).length;
      for (const [field, piece] of Object.entries(delta)) {
        if (field === "partial_json") input += piece;
        else value[field] = extended(value[field], piece);
      }
    },
    stop(emit) {
      if (input !== "") value.input = parseJson(input) ?? input;
      const index = open(opaqueBlock(value, "report"), emit);
      emit({ type: "block-end", index });
    },
  };
}

/**
 * Returns the value of a field after a piece of it. A text is appended. Any other value replaces the earlier value.
 */
function extended(
  before: JsonObject[string],
  piece: JsonObject[string],
): JsonObject[string] {
  return typeof before === "string" && typeof piece === "string"
    ? before + piece
    : piece;
}
