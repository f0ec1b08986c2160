import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/core/json.ts";

/**
 * Whether a log line has the usage that a provider told; where it told none, or an answer broke off before it told all,
 * whether the line has an estimate that says so and leaves nothing out.
 *
 * @param told What the provider told, in the words of the log; `undefined` when that is nothing.
 * @param isServed Whether the caller got an answer, and no error.
 */
export function checkLoggedUsage(
  logged: unknown,
  told: unknown,
  { isServed }: { readonly isServed: boolean },
): void {
  if (!isJsonObject(logged) || logged.estimated !== true) {
    assert.deepEqual(logged, told);
    assert.ok(!isServed || logged !== undefined);
    return;
  }
  assert.ok(Number.isInteger(logged.input_tokens));
  assert.ok(Number.isInteger(logged.output_tokens));
  if (!isJsonObject(told)) return;
  assert.equal(logged.input_tokens, told.input_tokens);
  assert.ok(Number(logged.output_tokens) >= Number(told.output_tokens));
}
