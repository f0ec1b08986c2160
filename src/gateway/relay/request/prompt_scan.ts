import { isJsonObject, parseJson } from "@gateway/base/json";
import { byteText } from "@gateway/base/streams/bytes";
import {
  type ByteRun,
  type JsonEvent,
  JsonObjectScan,
  matchKey,
  type StructureSink,
} from "@gateway/json_scan";
import { sumOf } from "./checksum.ts";
import { bodyChunks, type HeldBody } from "./held_body.ts";
import {
  type FindPrompt,
  FIRST_MESSAGES,
  MAX_SUMS,
  type Opening,
  type PromptParts,
} from "./prompt_parts.ts";

type Role = "tools" | "system" | "messages" | "setting" | "mark" | "link";

/**
 * The role of each field of the three protocols. A provider renders tools and system prompt before the messages. A
 * change of a setting can invalidate the provider's cache (Anthropic, "Prompt caching": what invalidates the cache),
 * and OpenAI routes by `prompt_cache_key`.
 */
const ROLES: Readonly<Record<string, Role>> = {
  tools: "tools",
  functions: "tools",
  system: "system",
  instructions: "system",
  messages: "messages",
  input: "messages",
  cache_control: "mark",
  previous_response_id: "link",
  conversation: "link",
  thinking: "setting",
  tool_choice: "setting",
  output_config: "setting",
  speed: "setting",
  reasoning: "setting",
  reasoning_effort: "setting",
  text: "setting",
  response_format: "setting",
  prompt_cache_key: "setting",
  prompt_cache_retention: "setting",
};

/**
 * A key that no body has. The key is as long as the longest field, because a scan keeps no name that is longer than the
 * scan's longest key.
 */
export const NO_NAME: string = " ".repeat(
  Math.max(...Object.keys(ROLES).map(({ length }) => length)),
);

/** The settings that hold the reasoning effort, as a string or as the member `effort` of an object. */
const EFFORT_FIELDS: ReadonlySet<string> = new Set([
  "reasoning",
  "reasoning_effort",
  "output_config",
]);

/** The longest setting that is searched for an effort, in bytes. */
const MAX_EFFORT_BYTES = 1024;

/** The fields by their first byte. */
const FIELDS = Map.groupBy(
  Object.entries(ROLES),
  ([field]) => field.charCodeAt(0),
);

const encoder = new TextEncoder();

/** The names of cache marks in content, with their quotes. */
const MARKS = ['"cache_control"', '"prompt_cache_breakpoint"']
  .map((name) => encoder.encode(name));
const CONTENT = encoder.encode('"content"');

/**
 * The bytes around a text that is summed as a block. Clients send a text with a cache mark as a block, and the same
 * text without a mark as a string.
 */
const BEFORE_TEXT = encoder.encode('[{"type":"text","text":');
const AFTER_TEXT = encoder.encode("}]}");

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const LETTER_E = 0x65;
/** The first letter of `null`. */
const NULL = 0x6e;

/**
 * Reads the parts of a prompt from the scan of its body. If an earlier prompt began with the same messages, their sums
 * are copied. One sum over the bytes of all these messages shows that they are equal, and takes far less time than one
 * sum for each message.
 */
export class PromptPartsReader implements PromptParts, StructureSink {
  tools = 0;
  toolCount = 0;
  readonly system: number[] = [];
  readonly messages: number[] = [];
  messagesField = "";
  systemField = "";
  readonly settings = new Map<string, number>();
  effort: string | undefined;
  marks = 0;
  isLinked = false;
  opening: Opening | undefined;
  /** The end of the opening that is compared, in the document. */
  quietUntil = 0;
  readonly #find: FindPrompt;
  /** The earlier prompt, while its opening is compared. */
  #earlier: PromptParts | undefined;
  /** The start of the list of messages, in the document. */
  #listStart = 0;
  #listSum = 0;
  /**
   * The start of the bytes to add to the sum of the list, in the current chunk; -1 outside of the list and after a
   * mark.
   */
  #listFrom = -1;
  /** The end of the last message, in the current chunk; -1 when that message ended in an earlier chunk. */
  #messageEnd = -1;
  /** The end of the last message, in the document. */
  #messageOffset = 0;
  #field = "";
  #role: Role = "setting";
  #sum = 0;
  #isInPart = false;
  /** The start of the bytes to add to the sum, in the current chunk; -1 outside of parts and within marks. */
  #from = -1;
  /** The position after the name of a `content` that is a string, in the document. */
  #contentEnd = -1;

  /** @param find Finds the prompt that the body may continue. */
  constructor(find: FindPrompt = () => undefined) {
    this.#find = find;
  }

  get isIncomplete(): boolean {
    return this.#earlier !== undefined;
  }

  wants(name: ByteRun | undefined): boolean {
    if (this.#earlier !== undefined) return false;
    const [field, role] = roleOf(name) ?? [];
    if (field === undefined || role === undefined) return false;
    this.#field = field;
    this.#role = role;
    this.#sum = 0;
    if (role === "messages") this.messagesField = field;
    else if (role === "system") this.systemField = field;
    return true;
  }

  take(
    event: JsonEvent | undefined,
    bytes: Uint8Array,
    at: number,
    walker: Parameters<StructureSink["take"]>[3],
  ): void {
    if (this.#earlier !== undefined && event !== undefined) {
      this.#addToList(bytes, at);
      this.#endComparison(this.#earlier, walker.offset);
      this.#passMessage(at, walker.offset);
      return;
    }
    switch (event) {
      case "value_begins": {
        const first = bytes[at];
        const isParted = first === OPEN_BRACKET && this.#role !== "tools";
        if (!isParted && first !== NULL) this.#begin(at);
        if (this.#role === "messages" && this.messages.length === 0) {
          this.#listStart = walker.offset;
          this.#listFrom = at;
          this.#listSum = 0;
        }
        return;
      }
      case "element_begins":
        if (this.#role === "tools") this.toolCount++;
        else this.#begin(at);
        return;
      case "inner_name_ends":
        if (this.#from === -1) return;
        if (walker.ownNameEnd === walker.offset) {
          this.#passContent(bytes, at, walker.offset);
        }
        if (this.#passMark(bytes, at)) walker.skip();
        return;
      case "skip_ends":
        this.#from = at;
        return;
      case "element_ends":
        if (!this.#isInPart || this.#role === "tools") return;
        if (this.#contentEnd === walker.ownNameEnd) {
          this.#add(bytes, skipBytes(bytes, at - 2, -1) + 1);
          this.#sum = sumOf(AFTER_TEXT, this.#sum);
        } else this.#add(bytes, at);
        this.#end();
        if (this.#listFrom === -1) return;
        this.#passMessage(at, walker.offset);
        if (this.messages.length === FIRST_MESSAGES) {
          this.#awaitOpening(this.#find(this.messages));
        }
        return;
      case "value_ends":
        this.#endOpening(bytes);
        if (!this.#isInPart) return;
        if (EFFORT_FIELDS.has(this.#field)) {
          this.effort = effortIn(bytes.subarray(this.#from, at)) ?? this.effort;
        }
        this.#add(bytes, at);
        this.#end();
        return;
      case undefined:
        this.#add(bytes, at);
        if (this.#from !== -1) this.#from = 0;
        this.#leaveList(bytes, at);
    }
  }

  #awaitOpening(earlier: PromptParts | undefined): void {
    if (earlier?.opening === undefined) return;
    this.#earlier = earlier;
    this.quietUntil = this.#listStart + earlier.opening.length;
  }

  /** Adopts the sums of an earlier prompt, if this prompt opens with the same bytes. */
  #endComparison({ opening, messages }: PromptParts, offset: number): void {
    if (offset !== this.quietUntil || this.#listSum !== opening?.sum) return;
    this.#earlier = undefined;
    this.quietUntil = 0;
    this.messages.push(...messages.slice(FIRST_MESSAGES, opening.messages));
  }

  #passMessage(at: number, offset: number): void {
    this.#messageEnd = at;
    this.#messageOffset = offset;
  }

  #addToList(bytes: Uint8Array, end: number): void {
    this.#listSum = sumOf(bytes, this.#listSum, this.#listFrom, end);
    this.#listFrom = end;
  }

  /** Passes the end of a chunk. */
  #leaveList(bytes: Uint8Array, end: number): void {
    if (this.#listFrom === -1) return;
    this.#keepOpening(bytes);
    this.#addToList(bytes, end);
    this.#listFrom = 0;
  }

  #endOpening(bytes: Uint8Array): void {
    if (this.#listFrom !== -1) this.#keepOpening(bytes);
    this.#listFrom = -1;
  }

  /** Ends the opening after the last message, if that message ended in this chunk. */
  #keepOpening(bytes: Uint8Array): void {
    if (this.#messageEnd === -1) return;
    this.#addToList(bytes, this.#messageEnd);
    this.#messageEnd = -1;
    this.opening = {
      messages: this.messages.length,
      length: this.#messageOffset - this.#listStart,
      sum: this.#listSum,
    };
  }

  #add(bytes: Uint8Array, end: number): void {
    const from = this.#from;
    if (from === -1 || end <= from) return;
    this.#sum = sumOf(bytes, this.#sum, from, end);
  }

  #begin(at: number): void {
    this.#isInPart = true;
    this.#contentEnd = -1;
    this.#from = at;
    this.#sum = 0;
  }

  #end(): void {
    this.#isInPart = false;
    this.#from = -1;
    const sum = this.#sum;
    switch (this.#role) {
      case "messages":
        if (this.messages.length <= MAX_SUMS) this.messages.push(sum);
        return;
      case "system":
        if (this.system.length <= MAX_SUMS) this.system.push(sum);
        return;
      case "tools":
        this.tools = sum;
        return;
      case "setting":
        this.settings.set(this.#field, sum);
        return;
      case "mark":
        this.marks++;
        return;
      case "link":
        this.isLinked = true;
    }
  }

  /** Sums a text as a block, if it is the value of the element's `content`. */
  #passContent(bytes: Uint8Array, at: number, offset: number): void {
    const value = skipBytes(bytes, at, 1, COLON);
    if (bytes[value] !== QUOTE || !endsAt(bytes, at, CONTENT)) return;
    this.#add(bytes, value);
    this.#sum = sumOf(BEFORE_TEXT, this.#sum);
    this.#from = value;
    this.#contentEnd = offset;
  }

  /** Leaves a mark out of the sum. Returns true when the mark's value is to be skipped. */
  #passMark(bytes: Uint8Array, at: number): boolean {
    // Most names are `content`, which differs from the marks in this letter.
    if (bytes[at - 4] === LETTER_E) return false;
    const mark = MARKS.find((one) => endsAt(bytes, at, one));
    if (mark === undefined) return false;
    if (bytes[skipBytes(bytes, at, 1, COLON)] !== OPEN_BRACE) return false;
    this.marks++;
    this.#endOpening(bytes);
    const name = at - mark.length;
    const before = skipBytes(bytes, name - 1, -1);
    this.#add(bytes, bytes[before] === COMMA ? before : name);
    this.#from = -1;
    return true;
  }
}

/**
 * Returns the parts of the prompt in a JSON body. The parts have no opening, so the next prompt is not compared with
 * them. If a client edits earlier messages in every turn, then only every second body is read twice.
 */
export async function promptPartsOf(body: HeldBody): Promise<PromptParts> {
  const parts = new PromptPartsReader();
  const scan = new JsonObjectScan([NO_NAME], undefined, parts);
  for await (const piece of bodyChunks(body)) scan.push(piece);
  parts.opening = undefined;
  return parts;
}

function roleOf(
  name: ByteRun | undefined,
): readonly [field: string, role: Role] | undefined {
  if (name === undefined) return undefined;
  const fields = FIELDS.get(name.bytes[name.start] ?? 0);
  if (fields === undefined) return undefined;
  for (const field of fields) {
    if (matchKey(name, field[0]) === "same") return field;
  }
  return undefined;
}

/** Returns the effort in a setting's value; `undefined` when the value is divided between chunks. */
function effortIn(bytes: Uint8Array): string | undefined {
  if (bytes.length > MAX_EFFORT_BYTES) return undefined;
  const value = parseJson(byteText(bytes));
  const effort = isJsonObject(value) ? value.effort : value;
  return typeof effort === "string" ? effort.slice(0, 32) : undefined;
}

/** Returns true when the bytes before `end` are `text`. */
function endsAt(bytes: Uint8Array, end: number, text: Uint8Array): boolean {
  const start = end - text.length;
  for (let index = text.length - 2; index >= 0; index--) {
    if (bytes[start + index] !== text[index]) return false;
  }
  return true;
}

/** Returns the first position from `start` on whose byte is neither white space nor `also`. */
function skipBytes(
  bytes: Uint8Array,
  start: number,
  step: 1 | -1,
  also = SPACE,
): number {
  let position = start;
  for (;;) {
    const byte = bytes[position];
    if (byte === undefined || byte > SPACE && byte !== also) return position;
    position += step;
  }
}
