import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";

/** An error as its caller reads it. */
export interface ErrorAnswer {
  readonly status: number;
  readonly type: unknown;
  readonly message: string;
  /** `undefined` in Messages, which lacks it. */
  readonly param: unknown;
  /** `undefined` in Messages, which lacks it. */
  readonly code: unknown;
  readonly headers: Headers;
}

/**
 * Reads an error of the gateway and checks its format, which is that of the caller's protocol
 * (docs/design.md#errors). The request id must be in each place where clients of that protocol look
 * for it.
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

/** {@linkcode readError} for a body that is read already. */
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
    // The error code of a provider with another protocol is in the field where SDKs look for codes.
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
