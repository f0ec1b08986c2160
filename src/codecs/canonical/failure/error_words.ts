import { wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";

/** The fields of an error body of any shape. */
export interface ErrorWords {
  /** The message of the error; never empty. */
  readonly message?: string | undefined;
  /** The error's type, or Google's `status` when the error has no type. */
  readonly type?: string | undefined;
  /** The code of the error. A code that is a number is kept as digits. */
  readonly code?: string | undefined;
  readonly param?: string | undefined;
  /** The HTTP status in the body. */
  readonly status?: number | undefined;
  /** True when the code is from MiniMax. At other providers, the same numbers have other meanings. */
  readonly isBaseResponse?: boolean | undefined;
}

/** The most levels of nested errors: a router's error contains its provider's error as text. */
const MAX_DEPTH = 8;

/**
 * Reads an error of any shape that providers send:
 *
 * - `{"error":{message,type,param,code}}` (OpenAI), `{"type":"error","error":{type,message,details}}` (Anthropic),
 *   the same in a list (Gemini), `{"error":"…"}`, `{"message":"…"}`, `{"code":1,"msg":"…"}`;
 * - `{"detail":"…"}` and `{"detail":[{loc,msg}]}` (FastAPI), also as `message.detail` (Mistral);
 * - `{"errors":[{code,message}]}` (Cloudflare), `{"base_resp":{status_code,status_msg}}` (MiniMax);
 * - an error in an error, as JSON or as text: OpenRouter's `metadata.raw`, Google's `message` through some proxies;
 * - plain text and HTML pages.
 */
export function readErrorWords(body: JsonValue | undefined): ErrorWords {
  const words = walkError(body);
  const message = words.message ??
    (typeof body === "string" ? nonEmpty(plainWords(body)) : words.code);
  return { ...words, message };
}

interface Walk {
  /** The number of inner levels that may still be read. */
  readonly depth: number;
  visit(error: JsonObject): void;
}

/** The fields that may contain an inner error. In a router's error, `raw` holds the provider's error as text. */
const HOLDER_KEYS = wordList(`
  error errors innererror details detail message metadata raw data
  base_resp
`);

/** The most items of a list that are read. */
const MAX_ITEMS = 8;

/**
 * Visits an error and all errors nested in it, as JSON or as text.
 *
 * @param visit Called with each object, outer objects first.
 * @returns The error's fields; without a message when the error is plain text.
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
  // Some proxies send JSON as a quoted string.
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
  return merge(inner, merge(provider, wordsOfObject(body)));
}

/** Reads the provider's error in OpenRouter's metadata: https://openrouter.ai/docs/api-reference/errors */
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

/** Reads the first error of a list. In a list from FastAPI, reads the first few errors: each names another field. */
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
  return { message: shown.join("; "), param: nonEmpty(faults[0]?.place ?? "") };
}

/** The most faults of one request that a message lists. */
const MAX_FAULTS = 3;

/** Reads one fault of FastAPI: https://fastapi.tiangolo.com/tutorial/handling-errors/ */
function faultOf(
  item: JsonValue,
): { readonly place: string; readonly text: string } | undefined {
  if (!isJsonObject(item) || typeof item.msg !== "string") return undefined;
  const path = Array.isArray(item.loc) ? item.loc : [];
  const place = path.filter((step, index) => index > 0 || step !== "body");
  return { place: place.join("."), text: item.msg };
}

/** Merges two descriptions of the same error. Fields of `inner` take precedence, except for the status. */
function merge(inner: ErrorWords, outer: ErrorWords): ErrorWords {
  return {
    message: inner.message ?? outer.message,
    type: inner.type ?? outer.type,
    code: inner.code ?? outer.code,
    param: inner.param ?? outer.param,
    status: outer.status ?? inner.status,
    isBaseResponse: inner.isBaseResponse ?? outer.isBaseResponse,
  };
}

/** Returns the field that contains the actual error, if any. */
function innerKey(body: JsonObject): typeof HOLDER_KEYS[number] | undefined {
  const { errors } = body;
  if (isJsonObject(body.base_resp)) return undefined;
  if (isHolder(body.error)) return "error";
  if (Array.isArray(errors) && errors.length > 0) return "errors";
  if (isHolder(body.message)) return "message";
  return isHolder(body.detail) ? "detail" : undefined;
}

/** Returns true when the value may contain an error: an object, a list, or JSON as text. */
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
    // The type `error` is the name of an event and not the type of the error.
    type: (body.type === "error" ? undefined : text(body.type)) ??
      googleStatus(body.status),
    code: codeIn(details.error_code) ?? codeIn(body.code) ??
      codeIn(body.error_code),
    param: text(body.param),
    status: statusIn(body),
  };
}

/** Returns Google's status, such as `INVALID_ARGUMENT`. Other providers' `status` is a number or an answer's state. */
function googleStatus(status: JsonValue | undefined): string | undefined {
  return typeof status === "string" && /^[A-Z_]+$/.test(status)
    ? status
    : undefined;
}

/** The fields with messages. The last fields are from AWS, z.ai, Baidu and problem documents (RFC 9457). */
const MESSAGE_KEYS = wordList(`
  message error detail Message msg error_msg error_description title
`);

/** Reads MiniMax's `base_resp`: https://platform.minimax.io/docs/api-reference/errorcode */
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

/** The longest text of a page or plain error that a caller sees, in characters. */
const MAX_SHOWN = 500;

/** The part of a page that is read, in characters. The title is near the beginning. */
const MAX_READ = 16 * 1024;

const PAGE_REGEXP = /^\s*<(?:!doctype|html|head|body|\?xml|center|h1)\b/i;
const TITLE_REGEXP = /<title[^>]{0,200}>([^<]{1,500})</i;

/**
 * Returns the text of an error that is not JSON, such as a proxy's page or a line of text. For a page, returns
 * its title, or the visible text of a page without a title. The result is one line of at most 500 characters.
 *
 * @returns "" when there is no text.
 */
export function plainWords(body: string): string {
  const text = body.slice(0, MAX_READ);
  if (!PAGE_REGEXP.test(text)) return onOneLine(text);
  const title = onOneLine(withoutEntities(TITLE_REGEXP.exec(text)?.[1] ?? ""));
  return title === "" ? onOneLine(withoutEntities(textOfPage(text))) : title;
}

/** Returns the visible text of a page. */
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
