import assert from "node:assert/strict";
import { openRecord } from "../../../src/gateway/observe/record.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

/** The usage fields of a line, all unknown. */
const NO_USAGE = {
  input_tokens: undefined,
  cached_input_tokens: undefined,
  cache_write_tokens: undefined,
  cache_write_1h_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
  speed: undefined,
  service_tier: undefined,
  inference_geo: undefined,
  refusal: undefined,
};

Deno.test("openRecord() writes one line with all known facts", () => {
  const { record, clock, log, end } = openTestRecord();
  Object.assign(record.facts, {
    caller: "alice",
    route: "/v1/messages",
    model: "m",
    upstreamModel: "upstream-m",
    connection: "main",
    mode: "translated",
    status: 200,
    bytesIn: 10,
    bytesOut: 20,
    answer: {
      firstByteMs: 1.23456,
      firstOutputMs: 2,
      usage: {
        inputTokens: 1,
        cachedInputTokens: 2,
        cacheWriteTokens: 3,
        outputTokens: 4,
        reasoningTokens: 5,
        providerMetadata: { messages: { secret: 1 } },
      },
      dropped: ["seed"],
      droppedParts: ["citation"],
      upstreamRequestId: "up_1",
      upstreamStatus: 200,
    },
    error: "some_code",
    reason: "it closed the connection",
    client: { session: "s1", agent: "a1", requestId: "r1" },
  });
  clock.advance(12.3456);
  end("upstream_broken");
  assert.deepEqual(log.entries, [{
    level: "warn",
    event: "request",
    fields: {
      request_id: "req_1",
      token: "alice",
      method: "POST",
      route: "/v1/messages",
      model: "m",
      upstream_model: "upstream-m",
      connection: "main",
      mode: "translated",
      status: 200,
      bytes_in: 10,
      bytes_out: 20,
      first_byte_ms: 1.235,
      first_output_ms: 2,
      usage: {
        ...NO_USAGE,
        input_tokens: 1,
        cached_input_tokens: 2,
        cache_write_tokens: 3,
        output_tokens: 4,
        reasoning_tokens: 5,
      },
      dropped: ["seed"],
      dropped_parts: ["citation"],
      upstream_request_id: "up_1",
      upstream_status: 200,
      error: "some_code",
      reason: "it closed the connection",
      session: "s1",
      agent: "a1",
      client_request_id: "r1",
      total_ms: 12.346,
      ended: "upstream_broken",
    },
  }]);
});

Deno.test("openRecord() omits unknown facts", () => {
  const { log, end } = openTestRecord();
  end("error");
  assert.deepEqual(log.entries[0]?.fields, {
    request_id: "req_1",
    method: "POST",
    bytes_in: 0,
    bytes_out: 0,
    total_ms: 0,
    ended: "error",
  });
});

Deno.test("openRecord() writes the failure of an unsent attempt when the caller disconnects before the error", () => {
  const { record, log, end } = openTestRecord();
  record.facts.attempts.push({
    connection: "main",
    model: "model-a",
    startedMs: 0,
    failed: { why: "untranslatable", status: undefined, atMs: 0 },
  });
  end("client_abort");
  assert.equal(log.entries[0]?.fields.failure, "untranslatable");
});

Deno.test("openRecord() writes only the first ending", () => {
  const { record, log, ended, end } = openTestRecord();
  assert.equal(record.isFinished(), false);
  end("client_abort");
  end("complete");
  assert.equal(record.isFinished(), true);
  assert.equal(log.entries.length, 1);
  assert.equal(ended(), "client_abort");
});

Deno.test("openRecord() cuts a long model name", () => {
  const { record, log, end } = openTestRecord();
  record.facts.model = "m".repeat(10_000);
  end("error");
  assert.equal(log.entries[0]?.fields.model, "m".repeat(128));
});

Deno.test("RequestRecord.watchChunks() measures the gaps between chunks only with metrics", () => {
  assert.equal(openTestRecord().record.watchChunks(), undefined);
  const clock = createFakeClock(0);
  const metrics = { requestEnded() {}, cooledDown() {}, limited() {} };
  const log = createMemoryLog();
  const record = openRecord("req_1", "POST", { clock, log, metrics });
  const noteChunk = record.watchChunks();
  assert.ok(noteChunk);
  for (const ms of [100, 3, 4]) {
    clock.advance(ms);
    noteChunk();
  }
  assert.equal(record.facts.chunkGaps?.count, 2);
  assert.equal(record.facts.chunkGaps.sumMs, 7);
});

Deno.test("RequestRecord.elapsedMs() returns the time since the record was opened", () => {
  const { record, clock, end } = openTestRecord();
  clock.advance(5);
  assert.equal(record.elapsedMs(), 5);
  end("complete");
  clock.advance(5);
  assert.equal(record.elapsedMs(), 10);
});

Deno.test("openRecord() writes the cost, the serving model and the mark of estimated tokens", () => {
  const { record, log, end } = openTestRecord();
  Object.assign(record.facts, { model: "asked", connection: "main" });
  const attempt = { connection: "main", model: "stood-in", startedMs: 0 };
  record.facts.attempts.push(attempt);
  record.facts.answer = {
    usage: { inputTokens: 3, outputTokens: 2 },
    isUsageEstimated: true,
    costNanos: 22_000,
  };
  end("client_abort");
  const { fields } = log.entries[0] ?? {};
  assert.equal(fields?.model, "asked");
  assert.equal(fields?.served_model, "stood-in");
  assert.equal(fields?.cost_usd, 0.000022);
  const tokens = { input_tokens: 3, output_tokens: 2, estimated: true };
  assert.deepEqual(fields?.usage, { ...NO_USAGE, ...tokens });
});
