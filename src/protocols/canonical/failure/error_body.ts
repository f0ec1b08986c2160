import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseLightJson,
} from "../../../core/json.ts";

/**
 * The body of an HTTP error as JSON; text where it is none, and the data of the first event where it is a stream,
 * as DashScope answers who asked for one. `undefined` where it is empty.
 */
export function parseErrorBody(text: string): JsonValue | undefined {
  const json = parseLightJson(text);
  if (json !== undefined) return json;
  const data = DATA_REGEXP.exec(text.slice(0, MAX_SEEN))?.[1];
  const event = data === undefined ? undefined : parseLightJson(data);
  if (isJsonObject(event)) return event;
  return text.trim() === "" ? undefined : text;
}

/** Where the first event of a stream that is an error stands, in characters. */
const MAX_SEEN = 64 * 1024;

const DATA_REGEXP = /^data: ?(\{.*)$/m;

/** Whether an answer or an event of one is an error, though its HTTP status says that all is well. */
export function isErrorBody(body: JsonObject): boolean {
  const { error, base_resp, message, code } = body;
  if (reports(error, body)) return true;
  if (body.type === "error" || body.success === false) return true;
  // MiniMax tells every failure there, and every success as 0.
  if (isJsonObject(base_resp)) return Number(base_resp.status_code) > 0;
  // vLLM, SGLang, SiliconFlow, Cerebras: an error without an envelope.
  return body.object === "error" ||
    typeof message === "string" && reports(code, body);
}

/** Whether a field reports an error; beside an answer an empty one, or a word for success, reports none. */
function reports(value: JsonValue | undefined, body: JsonObject): boolean {
  if (value === undefined || value === null || value === false) return false;
  return !(isEmpty(value) && holdsAnswer(body));
}

/** Whether the body is a whole answer, an event or a choice of any protocol. */
function holdsAnswer(body: JsonObject): boolean {
  // Events have a type, and so have errors without an envelope.
  const isEvent = typeof body.type === "string" && !/error/i.test(body.type);
  return isEvent ||
    ANSWER_KEYS.some((key) =>
      typeof body[key] === "object" && body[key] !== null
    );
}

const ANSWER_KEYS = ["choices", "content", "delta", "output", "response"];

function isEmpty(value: JsonValue | undefined): boolean {
  if (isJsonObject(value)) return Object.values(value).every(isEmpty);
  return SUCCESS_REGEXP.test(String(value ?? ""));
}

/** The HTTP status of success among them, and nothing at all, which is also the text of an empty list. */
const SUCCESS_REGEXP = /^(?:0|200|ok|success|succeeded|false)?$/i;

/**
 * Whether a body that begins so may be an error. The last patterns are of errors without an envelope, of Cloudflare,
 * and of MiniMax, which tells why only at the end.
 *
 * @param start Its first few hundred characters.
 */
export function mayBeFailure(start: string): boolean {
  return FAILURE_REGEXP.test(start);
}

const FAILURE_REGEXP = new RegExp([
  String.raw`"error"\s*:\s*["{]`,
  String.raw`"type"\s*:\s*"error"`,
  String.raw`"status"\s*:\s*"failed"`,
  String.raw`"message"\s*:\s*"`,
  String.raw`"errors"\s*:\s*\[|"success"\s*:\s*false`,
  String.raw`"base_resp"|"choices"\s*:\s*null`,
].join("|"));
