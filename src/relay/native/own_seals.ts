import { lookup } from "../../core/collections.ts";
import { objectsOf, parseJson } from "../../core/json.ts";
import { OPERATIONS, type Protocol } from "../../core/protocol.ts";
import { LoopTurns, STEP_BYTES } from "../../core/time/turns.ts";
import { type ByteEdit, type ByteSpan, matchKey } from "../../json_scan/key.ts";
import { JsonObjectScan, type StructureSink } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import {
  isWrapped,
  maySend,
  unwrapSealed,
} from "../../protocols/canonical/content/sealed.ts";
import { dialectOf } from "../../protocols/messages/dialect.ts";
import { summaryIn } from "../../protocols/responses/request/opaque_item.ts";
import type { Attempt } from "../attempt.ts";
import {
  bodyChunks,
  bodyPart,
  type HeldBody,
  partOf,
} from "../request/held_body.ts";
import { NO_NAME } from "../request/prompt_scan.ts";

/** The lists on the way to sealed reasoning, and the field of the seal by the type of the object. */
interface SealPlaces {
  readonly path: readonly [outer: string, inner?: string];
  readonly seals: Readonly<Record<string, string>>;
}

const PLACES: Readonly<Partial<Record<Protocol, SealPlaces>>> = {
  chat: {
    path: ["messages", "reasoning_details"],
    seals: { "reasoning.encrypted": "data" },
  },
  messages: {
    path: ["messages", "content"],
    seals: { thinking: "signature", redacted_thinking: "data" },
  },
  responses: {
    path: ["input"],
    seals: { reasoning: "encrypted_content", compaction: "encrypted_content" },
  },
};

/** The `form` of what an issuer has in the field of its seal. */
const FORMS = {
  signature: "signature",
  data: "redacted",
  encrypted_content: "encrypted_content",
};

const KEYS = ["type", "id", ...Object.keys(FORMS)];

/** The longest seal that is decoded, and the longest content that is parsed, in bytes. Either takes some 30 ms. */
const MAX_DECODED_BYTES = 1024 * 1024;

/** The content of a message of which nothing is left. Some providers refuse the two messages around it in a row. */
const NO_CONTENT = '{"type":"text","text":"(no content)"}';

/** The edits that take the gateway's own seals out of a body. */
interface SealEdits {
  readonly edits: readonly ByteEdit[];
  /** True when reasoning is left out. */
  readonly isCut: boolean;
}

/**
 * Returns the edits by which no seal of the gateway's own reaches the provider of a native attempt. What this provider
 * sealed is unwrapped. Any other object with such a seal is left out. Another gateway reads these seals itself.
 */
export async function sealEdits(attempt: Attempt): Promise<SealEdits> {
  const { operation, head, body, deployment: { connection } } = attempt;
  const { protocol } = OPERATIONS[operation];
  const edits: ByteEdit[] = [];
  const places = PLACES[protocol];
  if (!head.hasMark || !places || connection.service === "gateway") {
    return { edits, isCut: false };
  }
  const held = body.get();
  const turns = new LoopTurns();
  let isCut = false;

  /** Edits the objects of a list, and returns the positions of those that it leaves out. */
  async function edit(list: MarkedList, part: HeldBody, offset: number) {
    const cut = new Set<number>();
    for (const one of list.marked) {
      turns.count(one.end - one.start);
      await turns.next();
      const found = await judge(partOf(part, one), attempt, places?.seals);
      if (found === "cut") {
        edits.push(moved(cutOf(one, cut.size), offset));
        cut.add(one.index);
      } else edits.push(...found.map((own) => moved(own, offset + one.start)));
    }
    isCut ||= cut.size > 0;
    return cut;
  }

  const [outer, inner] = places.path;
  for (const list of await markedIn(held, outer)) {
    if (inner === undefined) await edit(list, held, 0);
    else {
      for (const message of list.marked) {
        const part = partOf(held, message);
        const { length } = edits;
        for (const content of await markedIn(part, inner)) {
          const cut = await edit(content, part, message.start);
          if (protocol !== "messages" || !isEmptied(content, cut, part)) {
            continue;
          }
          // The message may be left out only at the end, where the one before it has the other role.
          edits.length = length;
          edits.push(
            message.index > 0 && message.next === undefined
              ? cutOf(message, 0)
              : moved(filled(content), message.start),
          );
        }
      }
    }
  }
  return { edits, isCut };
}

/** An object in a list that may have a seal. */
interface Marked extends ByteSpan {
  readonly index: number;
  /** The end of the object before. */
  readonly before: number;
  /** The start of the next object. */
  next: number | undefined;
}

interface MarkedList {
  readonly start: number;
  end: number;
  count: number;
  readonly marked: Marked[];
}

/** Finds the lists with a name among an object's members, and the objects in them that have a mark. */
async function markedIn(
  object: HeldBody,
  name: string,
): Promise<readonly MarkedList[]> {
  const lists: MarkedList[] = [];
  let [start, marks] = [0, 0];
  let last: Marked | undefined;
  const sink: StructureSink = {
    quietUntil: 0,
    wants: (run) => run !== undefined && matchKey(run, name) === "same",
    take(event, _bytes, _at, walker) {
      const { offset } = walker;
      const list = lists.at(-1);
      if (event === "value_begins") {
        lists.push({ start: offset, end: offset, count: 0, marked: [] });
        last = undefined;
      } else if (event === "element_begins") {
        if (last !== undefined) last.next = offset;
        [start, marks] = [offset, walker.marks];
      } else if (event === "element_ends" && list !== undefined) {
        const before = last?.end ?? start;
        const index = list.count++;
        last = { start, end: offset, index, before, next: undefined };
        if (walker.marks > marks) list.marked.push(last);
      } else if (event === "value_ends" && list !== undefined) {
        list.end = offset;
      }
    },
  };
  await scanned(object, new JsonObjectScan([NO_NAME], undefined, sink));
  return lists;
}

/** Scans an object, a short one without turns in between. */
async function scanned(object: HeldBody, scan: JsonObjectScan) {
  if (object.length <= STEP_BYTES) {
    scan.push(bodyPart(object, { start: 0, end: object.length }));
  } else for await (const piece of bodyChunks(object)) scan.push(piece);
  return scan.end();
}

/** Returns the edits of an object, or `cut` when it must be left out. It has no mark but in other places: no edits. */
async function judge(
  object: HeldBody,
  { operation, deployment: { connection, model } }: Attempt,
  seals: SealPlaces["seals"] = {},
): Promise<"cut" | readonly ByteEdit[]> {
  const found = await membersOf(object);
  if (found === undefined) return "cut";
  const textOf = (key: string) => {
    const span = found.get(key)?.span;
    const value = span && JSON.parse(decoder.decode(bodyPart(object, span)));
    return typeof value === "string" ? value : "";
  };
  const type = textOf("type");
  const field = lookup(seals, type);
  const seal = field && found.get(field);
  const envelope = field === undefined ? "" : textOf(field);
  if (!seal || !isWrapped(envelope)) return [];
  const { span } = seal;
  if (envelope.length > MAX_DECODED_BYTES) return "cut";
  const summary = type === "compaction" &&
    summaryIn({ encrypted_content: envelope });
  if (typeof summary === "string") {
    const content = [{ type: "input_text", text: summary }];
    const text = JSON.stringify({ type: "message", role: "user", content });
    return [{ span: { start: 0, end: object.length }, text }];
  }
  const sealed = unwrapSealed(envelope);
  const { protocol } = OPERATIONS[operation];
  const connectionId = connection.id;
  if (
    sealed === undefined || sealed.form !== lookup(FORMS, field) ||
    !maySend(sealed, { protocol, connectionId })
  ) return "cut";
  // What it is bound to can be compared only as translated.
  const target = { ...connection, model: model.upstream };
  const { thinkingBinding } = dialectOf(target);
  if (sealed.bound && thinkingBinding === "checked") return "cut";
  const value = JSON.stringify(sealed.value);
  if (sealed.id === undefined) return [{ span, text: value }];
  const id = JSON.stringify(sealed.id);
  const idSpan = found.get("id")?.span;
  return idSpan === undefined
    ? [{ span, text: `${value},"id":${id}` }]
    : [{ span, text: value }, { span: idSpan, text: id }];
}

/** Returns the members of an object that matter; `undefined` when one of them has two readings. */
async function membersOf(object: HeldBody) {
  try {
    return await scanned(object, new JsonObjectScan(KEYS));
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** Returns true when only blank text is left of a message's content, which providers refuse like none. */
function isEmptied(
  list: MarkedList,
  cut: ReadonlySet<number>,
  message: HeldBody,
): boolean {
  if (cut.size === 0 || cut.size === list.count) return cut.size > 0;
  if (list.end - list.start > MAX_DECODED_BYTES) return false;
  const blocks = objectsOf(parseJson(decoder.decode(bodyPart(message, list))));
  return blocks.every(({ type, text }, index) =>
    cut.has(index) ||
    type === "text" && typeof text === "string" && text.trim() === ""
  );
}

/** @param cutBefore The number of objects that are cut from the beginning of the list on. */
function cutOf({ index, before, start, next, end }: Marked, cutBefore: number) {
  const span = index > cutBefore
    ? { start: before, end }
    : { start, end: next ?? end };
  return { span, text: "" };
}

function filled({ start, end }: MarkedList): ByteEdit {
  return { span: { start: start + 1, end: end - 1 }, text: NO_CONTENT };
}

function moved({ span, text }: ByteEdit, by: number): ByteEdit {
  return { span: { start: span.start + by, end: span.end + by }, text };
}

const decoder = new TextDecoder();
