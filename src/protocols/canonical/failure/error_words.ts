import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";

/** What an error body says, whatever its shape. */
export interface ErrorWords {
  /** Never empty. */
  readonly message?: string | undefined;
  /** The error's type; Google's `status` where there is none. */
  readonly type?: string | undefined;
  /** A number as digits. */
  readonly code?: string | undefined;
  readonly param?: string | undefined;
  /** The HTTP status that the body names. */
  readonly status?: number | undefined;
  /** Whether the code is one of MiniMax's, whose numbers mean something else elsewhere. */
  readonly isBaseResponse?: boolean | undefined;
}

/** How deep errors lie in one another: a router's error holds its provider's, as text. */
const MAX_DEPTH = 8;

/**
 * Reads an error in any of the shapes that providers send:
 *
 * - `{"error":{message,type,param,code}}` (OpenAI), `{"type":"error","error":{type,message,details}}` (Anthropic),
 *   the same in a list (Gemini), `{"error":"…"}`, `{"message":"…"}`, `{"code":1,"msg":"…"}`;
 * - `{"detail":"…"}` and `{"detail":[{loc,msg}]}` (FastAPI), also as `message.detail` (Mistral);
 * - `{"errors":[{code,message}]}` (Cloudflare), `{"base_resp":{status_code,status_msg}}` (MiniMax);
 * - an error in an error, as JSON or as text: OpenRouter's `metadata.raw`, Google's `message` behind some proxies;
 * - bare text and pages.
 */
export function readErrorWords(body: JsonValue | undefined): ErrorWords {
  const words = walkError(body);
  const message = words.message ??
    (typeof body === "string" ? nonEmpty(plainWords(body)) : words.code);
  return { ...words, message };
}

/** Where a walk is. */
interface Walk {
  /** How many errors may still lie in this one. */
  readonly depth: number;
  visit(error: JsonObject): void;
}

/** What an error may lie in: innermost the provider's own, as text, where a router passes it on. */
const HOLDER_KEYS = [
  "error",
  "errors",
  "innererror",
  "details",
  "detail",
  "message",
  "metadata",
  "raw",
  "base_resp",
] as const;

/** Longer lists are not looked through. */
const MAX_ITEMS = 8;

/**
 * Goes through an error and all that lies in it, whether as JSON or as text.
 *
 * @param visit Gets every object on the way, the outer ones first.
 * @returns What the error says in the places where errors say it; without a message where it is bare text.
 */
export function walkError(
  body: JsonValue | undefined,
  visit: (error: JsonObject) => void = () => {},
): ErrorWords {
  return walkAny(body, { depth: MAX_DEPTH, visit });
}

function walkAny(body: JsonValue | undefined, walk: Walk): ErrorWords {
  if (walk.depth === 0) return {};
  const deeper = { ...walk, depth: walk.depth - 1 };
  // Text may be JSON that was put in quotes on its way.
  if (typeof body === "string") {
    return isHolder(body) ? walkAny(parseJson(body), deeper) : {};
  }
  if (Array.isArray(body)) return walkList(body, deeper);
  return isJsonObject(body) ? walkObject(body, deeper) : {};
}

function walkObject(body: JsonObject, deeper: Walk): ErrorWords {
  deeper.visit(body);
  const key = innerKey(body);
  let inner: ErrorWords = {};
  let provider: ErrorWords = {};
  for (const holder of HOLDER_KEYS) {
    const value = body[holder];
    if (holder === "metadata" && isJsonObject(value)) {
      provider = walkMetadata(value, deeper);
      continue;
    }
    const words = walkAny(value, deeper);
    if (holder === key) inner = words;
  }
  return over(inner, over(provider, wordsOfObject(body)));
}

/** What OpenRouter passes on of the provider: https://openrouter.ai/docs/api-reference/errors */
function walkMetadata(metadata: JsonObject, deeper: Walk): ErrorWords {
  deeper.visit(metadata);
  let words: ErrorWords = {};
  for (const holder of HOLDER_KEYS) {
    const found = walkAny(metadata[holder], deeper);
    if (holder === "raw") words = found;
  }
  const { raw } = metadata;
  return typeof raw === "string" && words.message === undefined
    ? { ...words, message: nonEmpty(plainWords(raw)) }
    : words;
}

/** The first error of a list; of FastAPI's, whose items name the field, some more. */
function walkList(list: readonly JsonValue[], deeper: Walk): ErrorWords {
  const [inner = {}] = list.slice(0, MAX_ITEMS)
    .map((item) => walkAny(item, deeper));
  const faults = list.map(faultOf).filter((fault) => fault !== undefined);
  if (faults.length === 0) {
    const [first] = list;
    return typeof first === "string" ? { message: nonEmpty(first) } : inner;
  }
  const shown = faults.slice(0, MAX_FAULTS).map(({ place, text }) =>
    place === "" ? text : `${place}: ${text}`
  );
  return {
    message: shown.join("; "),
    param: nonEmpty(faults[0]?.place ?? ""),
  };
}

/** Most faults of one request that are told. */
const MAX_FAULTS = 3;

/** One of FastAPI's faults: https://fastapi.tiangolo.com/tutorial/handling-errors/ */
function faultOf(
  item: JsonValue,
): { readonly place: string; readonly text: string } | undefined {
  if (!isJsonObject(item) || typeof item.msg !== "string") return undefined;
  const path = Array.isArray(item.loc) ? item.loc : [];
  const place = path.filter((step, index) => index > 0 || step !== "body");
  return { place: place.join("."), text: item.msg };
}

/** Words of `inner` go before those of `outer`, which is about the same error. */
function over(inner: ErrorWords, outer: ErrorWords): ErrorWords {
  return {
    message: inner.message ?? outer.message,
    type: inner.type ?? outer.type,
    code: inner.code ?? outer.code,
    param: inner.param ?? outer.param,
    status: outer.status ?? inner.status,
    isBaseResponse: inner.isBaseResponse ?? outer.isBaseResponse,
  };
}

/** Where the error of the same words lies, if in something. */
function innerKey(body: JsonObject): typeof HOLDER_KEYS[number] | undefined {
  const { errors } = body;
  if (isJsonObject(body.base_resp)) return undefined;
  if (isHolder(body.error)) return "error";
  if (Array.isArray(errors) && errors.length > 0) return "errors";
  if (isHolder(body.message)) return "message";
  return isHolder(body.detail) ? "detail" : undefined;
}

/** Whether there may be an error in it: an object, a list, or JSON as text. */
function isHolder(value: JsonValue | undefined): boolean {
  if (typeof value === "string") return /^\s*[[{]/.test(value);
  return typeof value === "object" && value !== null;
}

function wordsOfObject(body: JsonObject): ErrorWords {
  if (isJsonObject(body.base_resp)) return wordsOfBaseResponse(body.base_resp);
  const details = isJsonObject(body.details) ? body.details : {};
  return {
    message: MESSAGE_KEYS.map((key) => text(body[key]))
      .find((message) => message !== undefined),
    // An event's own name stands there, too.
    type: (body.type === "error" ? undefined : text(body.type)) ??
      googleStatus(body.status),
    code: codeIn(details.error_code) ?? codeIn(body.code) ??
      codeIn(body.error_code),
    param: text(body.param),
    status: statusIn(body),
  };
}

/** Google's `INVALID_ARGUMENT`; elsewhere a status is a number, or one of an answer. */
function googleStatus(status: JsonValue | undefined): string | undefined {
  return typeof status === "string" && /^[A-Z_]+$/.test(status)
    ? status
    : undefined;
}

/** Where messages stand; the last are of AWS, z.ai, Baidu and problem documents (RFC 9457). */
const MESSAGE_KEYS = [
  "message",
  "error",
  "detail",
  "Message",
  "msg",
  "error_msg",
  "error_description",
  "title",
];

/** https://platform.minimax.io/docs/api-reference/errorcode */
function wordsOfBaseResponse(base: JsonObject): ErrorWords {
  return {
    message: text(base.status_msg),
    code: codeIn(base.status_code),
    isBaseResponse: true,
  };
}

function statusIn(body: JsonObject): number | undefined {
  const { status, status_code, code, raw_status_code } = body;
  return [status, status_code, code, raw_status_code].map(Number)
    .find((number) => number >= 400 && number < 600);
}

function codeIn(value: JsonValue | undefined): string | undefined {
  return typeof value === "number" ? String(value) : text(value);
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? nonEmpty(value) : undefined;
}

function nonEmpty(value: string): string | undefined {
  return value === "" ? undefined : value;
}

/** The longest text of a page or of bare words that a caller is shown, in characters. */
const MAX_SHOWN = 500;

/** What of a page is looked at, in characters; its title stands at the beginning. */
const MAX_READ = 16 * 1024;

const PAGE_REGEXP = /^\s*<(?:!doctype|html|head|body|\?xml|center|h1)\b/i;
const TITLE_REGEXP = /<title[^>]{0,200}>([^<]{1,500})</i;

/**
 * What an error says that is no JSON, such as a proxy's page or a line of text: a page's title, else its text,
 * on one line and at most 500 characters long.
 *
 * @returns "" where it says nothing.
 */
export function plainWords(body: string): string {
  const text = body.slice(0, MAX_READ);
  if (!PAGE_REGEXP.test(text)) return onOneLine(text);
  const title = onOneLine(withoutEntities(TITLE_REGEXP.exec(text)?.[1] ?? ""));
  return title === "" ? onOneLine(withoutEntities(textOfPage(text))) : title;
}

/** The text between tags; of elements that are not shown nothing. */
function textOfPage(page: string): string {
  let text = "";
  let hidden = "";
  for (const piece of page.split("<").slice(1)) {
    const end = piece.indexOf(">");
    if (end === -1) continue;
    const name = /^\/?[\w-]+/.exec(piece)?.[0].toLowerCase() ?? "";
    if (hidden === "" && (name === "script" || name === "style")) hidden = name;
    if (name === `/${hidden}`) hidden = "";
    if (hidden === "") text += ` ${piece.slice(end + 1)}`;
  }
  return text;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
};

function withoutEntities(text: string): string {
  return text.replace(
    /&(?:amp|lt|gt|quot|#39|nbsp);/g,
    (entity) => ENTITIES[entity] ?? entity,
  );
}

function onOneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
