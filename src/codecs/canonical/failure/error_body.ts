import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseLightJson,
} from "@gateway/base/json";

/**
 * Returns the body of an HTTP error as JSON. For a stream, returns the data of the first event: DashScope streams its
 * errors when the request has `stream`. A body without JSON stays text. Returns `undefined` for an empty body.
 */
export function parseErrorBody(text: string): JsonValue | undefined {
  const json = parseLightJson(text);
  if (json !== undefined) return json;
  const data = DATA_REGEXP.exec(text.slice(0, MAX_SEEN))?.[1];
  const event = data === undefined ? undefined : parseLightJson(data);
  if (isJsonObject(event)) return event;
  return text.trim() === "" ? undefined : text;
}

/** The part of a stream that is searched for its first event, in characters. */
const MAX_SEEN = 64 * 1024;

const DATA_REGEXP = /^data: ?(\{.*)$/m;

/** Returns true when an answer or an event is an error despite its successful HTTP status. */
export function isErrorBody(body: JsonObject): boolean {
  const { error, base_resp, msg, message = msg, code } = body;
  if (reports(error, body)) return true;
  if (body.type === "error" || body.success === false) return true;
  // MiniMax reports every result in `base_resp`: 0 is success.
  if (isJsonObject(base_resp)) return Number(base_resp.status_code) > 0;
  // vLLM, SGLang, SiliconFlow, Cerebras, Z.ai: an error without an envelope.
  return body.object === "error" ||
    typeof message === "string" && reports(code, body);
}

/** Returns true when a field reports an error. In an answer, an empty value or a word for success is no error. */
function reports(value: JsonValue | undefined, body: JsonObject): boolean {
  if (value === undefined || value === null || value === false) return false;
  return !(isEmpty(value) && holdsAnswer(body));
}

/** Returns true when the body is an answer or an event of any protocol. */
function holdsAnswer(body: JsonObject): boolean {
  // An error without an envelope also has a `type`, but this type contains the word `error`.
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

/**
 * Matches the values for success, including the HTTP status 200. An empty list also matches, because its text is
 * empty.
 */
const SUCCESS_REGEXP = /^(?:0|200|ok|success|succeeded|false)?$/i;

/**
 * Returns true when a body with this beginning may be an error. The last patterns match errors without an envelope,
 * errors of Cloudflare, and errors of MiniMax. MiniMax gives the reason only at the end of the body.
 *
 * @param start The first few hundred characters of the body.
 */
export function mayBeFailure(start: string): boolean {
  return FAILURE_REGEXP.test(start);
}

const FAILURE_REGEXP = new RegExp([
  String.raw`"error"\s*:\s*["{]`,
  String.raw`"type"\s*:\s*"error"`,
  String.raw`"status"\s*:\s*"failed"`,
  String.raw`"(?:message|msg)"\s*:\s*"`,
  String.raw`"errors"\s*:\s*\[|"success"\s*:\s*false`,
  String.raw`"base_resp"|"choices"\s*:\s*null`,
].join("|"));
