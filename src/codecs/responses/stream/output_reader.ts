import { lookup } from "@gateway/base/collections";
import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { ToolCallBlock } from "../../canonical/content/block.ts";
import { MAX_BLOCKS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
  NAMELESS_CALL,
  oversizedEvent,
} from "../../canonical/stream/event.ts";
import { createMessageReader, EmittedText } from "./message_reader.ts";
import { opaqueItem } from "../request/opaque_item.ts";
import {
  type BlockEmitter,
  createBlockEmitter,
  type ItemReader,
  type ReaderScope,
} from "./block_emitter.ts";
import { createReasoningReader } from "./reasoning_reader.ts";
import { decodeCall } from "../tools/call_item.ts";

/** An item that has begun. */
interface Item {
  readonly type: JsonValue | undefined;
  readonly id: JsonValue | undefined;
  readonly reader: ItemReader;
  isDone: boolean;
}

/** The types of items that begin without an announcement, by the type of their first event. */
const TYPE_BY_EVENT: Readonly<Record<string, string>> = {
  "response.output_text.delta": "message",
  "response.refusal.delta": "message",
  "response.reasoning_summary_text.delta": "reasoning",
  "response.reasoning_text.delta": "reasoning",
};

/** Reads the output items of one answer. Each event goes to the reader of its item. */
export class OutputReader {
  readonly #emit: Emit<AnswerEvent>;
  readonly #scope: ReaderScope;
  /** The items by `output_index`, since some proxies give each event a different id. */
  readonly #items = new Map<JsonValue, Item>();
  /** The key of the item that began last. */
  #lastKey: JsonValue = 0;

  constructor(ids: Ids, emit: Emit<AnswerEvent>) {
    this.#emit = emit;
    const fail = (fault: string) => emit(brokenEvent(fault));
    this.#scope = { ids, fail, blocks: createBlockEmitter(emit) };
  }

  /** True when a call of one of the caller's tools has begun. */
  get hasCalls(): boolean {
    return this.#scope.blocks.hasCalls();
  }

  /** Reads the next event by its type, and ignores unknown types. */
  push(type: string, event: JsonObject): void {
    switch (type) {
      case "response.output_item.added":
        return this.#add(event);
      case "response.output_item.done":
        return this.#done(event);
      default: {
        const item = this.#itemOf(type, event);
        if (item?.isDone === false) item.reader.push(type, event);
      }
    }
  }

  /**
   * Closes the open items. Also emits the items in `output`, the list of the last event, that no earlier event
   * announced.
   */
  finish(output: readonly JsonObject[]): void {
    const begun = [...this.#items.values()];
    begun.forEach((item, position) =>
      finishItem(item, counterpart(item, position, output))
    );
    const ownIds = new Set(begun.map(({ id }) => id));
    const unannounced = output.filter(({ id }) =>
      id === undefined || !ownIds.has(id)
    );
    for (const item of unannounced.slice(0, output.length - begun.length)) {
      finishItem(this.#begin(item, `unannounced ${this.#items.size}`), item);
    }
  }

  #add({ item, output_index }: JsonObject): void {
    const key = output_index ?? this.#items.size;
    if (isJsonObject(item) && !this.#items.has(key)) this.#begin(item, key);
  }

  #done({ item, output_index }: JsonObject): void {
    if (!isJsonObject(item)) return;
    const key = output_index ?? this.#lastKey;
    finishItem(this.#items.get(key) ?? this.#begin(item, key), item);
  }

  /** Returns the item that an event belongs to. An item that was not announced begins here. */
  #itemOf(type: string, event: JsonObject): Item | undefined {
    const key = event.output_index ?? this.#lastKey;
    const known = this.#items.get(key);
    if (known !== undefined) return known;
    const implied = lookup(TYPE_BY_EVENT, type);
    return implied === undefined
      ? undefined
      : this.#begin({ type: implied }, key);
  }

  #begin(item: JsonObject, key: JsonValue): Item {
    if (this.#items.size >= MAX_BLOCKS) {
      this.#emit(oversizedEvent("The provider's answer has too many items"));
    }
    const { type, id } = item;
    const reader = createItemReader(item, this.#scope);
    const begun = { type, id, reader, isDone: false };
    this.#items.set(key, begun);
    this.#lastKey = key;
    return begun;
  }
}

function finishItem(item: Item, whole: JsonObject | undefined): void {
  if (item.isDone) return;
  item.isDone = true;
  item.reader.finish(whole);
}

/**
 * Finds the finished form of an item in `output` by the id of the item. If no id matches, finds it by the place of the
 * item.
 */
function counterpart(
  { id, type }: Item,
  position: number,
  output: readonly JsonObject[],
): JsonObject | undefined {
  const named = id === undefined
    ? undefined
    : output.find((item) => item.id === id);
  const found = named ?? output[position];
  return found?.type === type ? found : undefined;
}

/** Creates a reader for an item. `item` is the first form of the item. */
function createItemReader(item: JsonObject, scope: ReaderScope): ItemReader {
  if (item.type === "message") return createMessageReader(item, scope.blocks);
  if (item.type === "reasoning") {
    return createReasoningReader(item, scope.blocks);
  }
  return isCallItem(item)
    ? createCallReader(item, scope)
    : createOpaqueReader(scope.blocks);
}

/** Creates a reader for an item that other protocols do not have. The item is emitted when all of it has arrived. */
function createOpaqueReader(blocks: BlockEmitter): ItemReader {
  return {
    push() {},
    finish(item) {
      if (item !== undefined) blocks.emitOpaque(opaqueItem(item));
    },
  };
}

/** Returns true when the item calls a tool that the caller runs. */
function isCallItem(item: JsonObject): boolean {
  return decodeCall(item) !== undefined;
}

/**
 * Creates a reader for a call. The call begins when its id and name are known, usually with the first event. If the
 * first event lacks them, the call begins with the finished item. A finished call without a name fails the answer.
 */
function createCallReader(
  item: JsonObject,
  { blocks, ids, fail }: ReaderScope,
): ItemReader {
  const isPlain = item.type === "function_call" ||
    item.type === "custom_tool_call";
  let block: number | undefined;
  const emitted = new EmittedText();
  if (isPlain) begin(decodeCall(item));

  function begin(call: ToolCallBlock | undefined): void {
    if (call === undefined || call.id === "" || call.name === "") return;
    block = blocks.open(headOf(call));
  }

  function emit(text: JsonValue | undefined): void {
    if (typeof text !== "string" || block === undefined) return;
    emitted.add(text);
    blocks.emitText(block, text);
  }

  function complete(whole: JsonValue | undefined): void {
    if (typeof whole === "string") emit(emitted.missingFrom(whole));
  }

  return {
    push(type, event) {
      switch (type) {
        case "response.function_call_arguments.delta":
        case "response.custom_tool_call_input.delta":
          return isPlain ? emit(event.delta) : undefined;
        case "response.function_call_arguments.done":
          return complete(event.arguments);
        case "response.custom_tool_call_input.done":
          return complete(event.input);
      }
    },
    finish(whole) {
      const call = decodeCall(whole ?? item);
      if (block === undefined && call !== undefined) {
        const isCut = (whole ?? item).status === "incomplete";
        if (call.name === "" && !isCut) fail(NAMELESS_CALL);
        begin({ ...call, id: call.id || ids.next("call") });
      }
      if (whole !== undefined && call !== undefined) complete(textOf(call));
      if (block !== undefined) blocks.close(block);
    },
  };
}

function textOf(call: ToolCallBlock): string {
  return call.kind === "custom_call" ? call.input : call.arguments;
}

function headOf(call: ToolCallBlock): BlockHead {
  if (call.kind === "custom_call") {
    const { input: _input, sealed: _sealed, ...head } = call;
    return head;
  }
  const { arguments: _arguments, sealed: _sealed, ...head } = call;
  return head;
}
