import assert from "node:assert/strict";
import { followCaller } from "../../src/relay/exchange.ts";
import { CallerLeft } from "../../src/upstream/call.ts";
import { openTestRecord } from "../support/gateway/open_record.ts";

function scene(signal: AbortSignal) {
  const { record } = openTestRecord();
  const request = new Request("http://gateway/", { signal });
  const { controller } = followCaller(request, record);
  return { record, controller };
}

Deno.test("followCaller() aborts when the caller leaves, and says so", () => {
  const caller = new AbortController();
  const { controller } = scene(caller.signal);
  assert.equal(controller.signal.aborted, false);
  caller.abort();
  assert.ok(controller.signal.reason instanceof CallerLeft);
});

Deno.test("followCaller() aborts at once when the caller has left already", () => {
  const { controller } = scene(AbortSignal.abort());
  assert.ok(controller.signal.reason instanceof CallerLeft);
});

Deno.test("followCaller() lets the caller go once the request has ended", () => {
  const caller = new AbortController();
  const { record, controller } = scene(caller.signal);
  record.finish("complete");
  caller.abort();
  assert.equal(controller.signal.aborted, false);
});

Deno.test("followCaller() does not follow a request that has ended", () => {
  const { record } = openTestRecord();
  record.finish("error");
  const signal = AbortSignal.abort();
  const { controller } = followCaller(
    new Request("http://gateway/", { signal }),
    record,
  );
  assert.equal(controller.signal.aborted, false);
});
