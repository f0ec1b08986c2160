import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/base/json.ts";

/**
 * Checks the usage in a log line. It equals the provider's usage, or is an estimate that is marked
 * as one and complete. An estimate is for a provider without usage, and for an answer that broke
 * off before its usage was complete.
 *
 * @param sent The provider's usage with the log's field names; `undefined` when there is none.
 * @param isServed True when the caller received an answer and no error.
 */
export function checkLoggedUsage(
  logged: unknown,
  sent: unknown,
  { isServed }: { readonly isServed: boolean },
): void {
  if (!isJsonObject(logged) || logged.estimated !== true) {
    assert.deepEqual(logged, sent);
    assert.ok(!isServed || logged !== undefined);
    return;
  }
  assert.ok(Number.isInteger(logged.input_tokens));
  assert.ok(Number.isInteger(logged.output_tokens));
  if (!isJsonObject(sent)) return;
  assert.equal(logged.input_tokens, sent.input_tokens);
  assert.ok(Number(logged.output_tokens) >= Number(sent.output_tokens));
}
