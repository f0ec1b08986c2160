import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";

/** An error as a caller reads it. */
export interface ErrorAnswer {
  readonly status: number;
  readonly type: unknown;
  readonly message: string;
  /** `undefined` in Messages, which has none. */
  readonly param: unknown;
  /** `undefined` in Messages, which has none. */
  readonly code: unknown;
  readonly headers: Headers;
}

/**
 * Reads an error of the gateway and checks that it has exactly the shape of the caller's protocol, and the
 * request's id wherever that protocol's clients look for it (docs/design.md#errors).
 */
export async function readError(
  response: Response,
  protocol: Protocol,
): Promise<ErrorAnswer> {
  return errorAnswer({
    status: response.status,
    headers: response.headers,
    body: await response.text(),
  }, protocol);
}

/** The same for an answer that has been read already. */
export function errorAnswer(
  { status, headers, body }: {
    readonly status: number;
    readonly headers: Headers;
    readonly body: string;
  },
  protocol: Protocol,
): ErrorAnswer {
  const requestId = headers.get("x-request-id");
  assert.match(requestId ?? "", /^req_[0-9a-f]{32}$/);
  assert.equal(headers.get("content-type"), "application/json");
  const whole = parseJson(body);
  assert.ok(isJsonObject(whole) && isJsonObject(whole.error), body);
  const { message, type, param, code, details } = whole.error;
  assert.ok(typeof message === "string");
  if (protocol === "messages") {
    // What a provider of another protocol calls its error stands where SDKs look for codes.
    if (details !== undefined) assert.ok(isErrorCode(details), body);
    const error = {
      type,
      message,
      ...(details === undefined ? {} : { details }),
    };
    assert.deepEqual(whole, { type: "error", error, request_id: requestId });
    assert.equal(headers.get("request-id"), requestId);
  } else {
    assert.deepEqual(whole, { error: { message, type, param, code } });
    assert.ok(param !== undefined && code !== undefined);
  }
  return { status, type, message, param, code, headers };
}

function isErrorCode(details: JsonValue): boolean {
  return isJsonObject(details) && Object.keys(details).length === 1 &&
    typeof details.error_code === "string";
}
