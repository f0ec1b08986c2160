import { objectsOf, parseJson } from "@gateway/base/json";
import { OPERATIONS } from "@gateway/base/protocol";
import { LoopTurns, STEP_BYTES } from "@gateway/base/time/turns";
import { ownSeals } from "@gateway/codecs";
import {
  type ByteEdit,
  type ByteSpan,
  JsonObjectScan,
  JsonScanError,
  matchKey,
  type StructureSink,
} from "@gateway/json_scan";
import type { Attempt } from "../attempt.ts";
import {
  bodyChunks,
  bodyPart,
  type HeldBody,
  partOf,
} from "../request/held_body.ts";
import { NO_NAME } from "../request/prompt_scan.ts";
import { targetOf } from "../routing/candidate.ts";

/** The longest content that is parsed, in bytes. Parsing it takes some 30 ms. */
const MAX_PARSED_BYTES = 1024 * 1024;

/**
 * The content of a message that would be empty. If the message were left out, two messages of the same role could be
 * adjacent. Some providers refuse adjacent messages of one role.
 */
const NO_CONTENT = '{"type":"text","text":"(no content)"}';

/**
 * Returns the edits that remove the gateway's own seals from a native request. `isCut` is true when the edits leave
 * reasoning out. Reasoning that this provider sealed is unwrapped. If the provider is another gateway, nothing is
 * edited, because that gateway reads the seals itself.
 */
export async function sealEdits(
  attempt: Attempt,
): Promise<{ readonly edits: readonly ByteEdit[]; readonly isCut: boolean }> {
  const { operation, head, deployment } = attempt;
  const { protocol } = OPERATIONS[operation];
  const edits: ByteEdit[] = [];
  const seals = head.hasMark
    ? ownSeals(protocol, targetOf(deployment))
    : undefined;
  let isCut = false;
  if (seals === undefined) return { edits, isCut };
  const { path: [outer, inner] } = seals;
  const body = attempt.body.get();
  const turns = new LoopTurns();

  /** Edits the objects of a list. Returns the positions of the objects that the edits leave out. */
  const edit = async (list: MarkedList): Promise<ReadonlySet<number>> => {
    const cut = new Set<number>();
    for (const one of list.marked) {
      turns.count(one.end - one.start);
      await turns.next();
      const found = await judge(one, body, seals);
      if (found !== undefined) edits.push(...found);
      else if (isAmongObjects(one, list, body)) {
        edits.push(cutOf(one, cut.size));
        cut.add(one.index);
      }
    }
    isCut ||= cut.size > 0;
    return cut;
  };

  const all = { start: 0, end: body.length };
  for (const list of await markedIn(body, all, outer)) {
    if (inner === undefined) await edit(list);
    else {
      for (const message of list.marked) {
        const { length } = edits;
        // Of several values with the name, parsers take the last.
        const [content] = (await markedIn(body, message, inner)).slice(-1);
        if (content !== undefined) {
          const cut = await edit(content);
          if (protocol !== "messages" || !isEmptied(content, cut, body)) {
            continue;
          }
          // Only the last message may be left out, because no message of the same role can follow then.
          const isLast = message.index > 0 && message.next === undefined;
          edits.length = length;
          edits.push(isLast ? cutOf(message, 0) : filled(content));
        }
      }
    }
  }
  return { edits, isCut };
}

/** An object of a list. It may have a seal. */
interface Marked extends ByteSpan {
  readonly index: number;
  /** The end of the object before, or the beginning of the list. */
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

/** Finds the lists under a name in an object of the body, and the objects in these lists that have a mark. */
async function markedIn(
  body: HeldBody,
  object: ByteSpan,
  name: string,
): Promise<readonly MarkedList[]> {
  const lists: MarkedList[] = [];
  let start: number | undefined;
  let marks = 0;
  let last: Marked | undefined;
  const sink: StructureSink = {
    quietUntil: 0,
    wants: (run) => run !== undefined && matchKey(run, name) === "same",
    take(event, _bytes, _at, walker) {
      const offset = object.start + walker.offset;
      const list = lists.at(-1);
      if (event === "value_begins") {
        lists.push({ start: offset, end: offset, count: 0, marked: [] });
        last = undefined;
      } else if (event === "element_begins") {
        if (last !== undefined) last.next = offset;
        [start, marks] = [offset, walker.marks];
      } else if (event === "element_ends") {
        // For a nested list, only the end is reported.
        if (list === undefined || start === undefined) return;
        const before = last?.end ?? list.start + 1;
        const index = list.count++;
        last = { start, end: offset, index, before, next: undefined };
        start = undefined;
        if (walker.marks > marks) list.marked.push(last);
      } else if (event === "value_ends" && list !== undefined) {
        list.end = offset;
      }
    },
  };
  const scan = new JsonObjectScan([NO_NAME], undefined, sink);
  await scanned(body, object, scan);
  return lists;
}

/** Scans an object of the body. During a long scan, other work gets its turn. */
async function scanned(
  body: HeldBody,
  object: ByteSpan,
  scan: JsonObjectScan,
) {
  if (object.end - object.start <= STEP_BYTES) {
    scan.push(bodyPart(body, object));
  } else {
    for await (const piece of bodyChunks(partOf(body, object))) {
      scan.push(piece);
    }
  }
  return scan.end();
}

function textIn(body: HeldBody, span: ByteSpan): string {
  return decoder.decode(bodyPart(body, span));
}

/** Returns the edits of an object; `undefined` when the object must be left out. */
async function judge(
  object: ByteSpan,
  body: HeldBody,
  seals: Seals,
): Promise<readonly ByteEdit[] | undefined> {
  const found = await membersOf(object, body, seals);
  if (found === undefined) return undefined;
  const spanOf = (key: string) => {
    const span = found.get(key)?.span;
    return span && moved(span, object.start);
  };
  const textOf = (key: string) => {
    const span = spanOf(key);
    const value = span && JSON.parse(textIn(body, span));
    return typeof value === "string" ? value : "";
  };
  const type = textOf("type");
  const field = seals.fieldOf(type) ?? "";
  const span = spanOf(field);
  const opened = seals.open(type, textOf(field));
  if (span === undefined || opened === "kept") return [];
  if (opened === "cut") return undefined;
  if ("item" in opened) {
    return [{ span: object, text: JSON.stringify(opened.item) }];
  }
  const value = JSON.stringify(opened.value);
  if (opened.id === undefined) return [{ span, text: value }];
  const id = JSON.stringify(opened.id);
  const idSpan = spanOf("id");
  return idSpan === undefined
    ? [{ span, text: `${value},"id":${id}` }]
    : [{ span, text: value }, { span: idSpan, text: id }];
}

type Seals = NonNullable<ReturnType<typeof ownSeals>>;

/** Returns the members that seals need; `undefined` when parsers could read the object in different ways. */
async function membersOf(object: ByteSpan, body: HeldBody, { keys }: Seals) {
  try {
    return await scanned(body, object, new JsonObjectScan(keys));
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** Returns true when a message's content is empty or blank after the cuts. Providers refuse such a message. */
function isEmptied(
  list: MarkedList,
  cut: ReadonlySet<number>,
  body: HeldBody,
): boolean {
  if (cut.size === 0 || cut.size === list.count) return cut.size > 0;
  if (list.end - list.start > MAX_PARSED_BYTES) return false;
  const blocks = objectsOf(parseJson(textIn(body, list)));
  return blocks.every(({ type, text }, index) =>
    cut.has(index) ||
    type === "text" && typeof text === "string" && text.trim() === ""
  );
}

/**
 * Returns true when the neighbours of an object are objects. No provider accepts other lists, so such lists stay as
 * they are.
 */
function isAmongObjects(
  { start, before, next, end }: Marked,
  list: MarkedList,
  body: HeldBody,
): boolean {
  const after = { start: end, end: next ?? list.end - 1 };
  return [{ start: before, end: start }, after].every((gap) =>
    ["", ","].includes(textIn(body, gap).trim())
  );
}

/** @param cutBefore The number of objects that are cut from the list before this object. */
function cutOf({ index, before, start, next, end }: Marked, cutBefore: number) {
  const span = index > cutBefore
    ? { start: before, end }
    : { start, end: next ?? end };
  return { span, text: "" };
}

function filled({ start, end }: MarkedList): ByteEdit {
  return { span: { start: start + 1, end: end - 1 }, text: NO_CONTENT };
}

function moved({ start, end }: ByteSpan, by: number): ByteSpan {
  return { start: start + by, end: end + by };
}

const decoder = new TextDecoder();
