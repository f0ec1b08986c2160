import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { Operation } from "../../../src/base/protocol.ts";
import type { Attempt } from "../../../src/gateway/relay/attempt.ts";
import { createBodyMemory } from "../../../src/gateway/relay/request/body_memory.ts";
import { keepBody } from "../../../src/gateway/relay/request/held_body.ts";
import { followCaller } from "../../../src/gateway/relay/exchange.ts";
import { createRequestHeadReader } from "../../../src/gateway/relay/request/request_head.ts";
import { minimalConfig } from "./config.ts";
import { type OpenRecord, openTestRecord } from "./open_record.ts";

/** An attempt with the record of its request. */
export interface TestAttempt extends OpenRecord {
  readonly attempt: Attempt;
}

/** The options of an attempt at `model-a` of a minimal configuration. */
export interface TestAttemptOptions {
  readonly operation?: Operation;
  /** The idle timeout, in milliseconds. */
  readonly idleMs?: number;
  readonly mayRepeat?: boolean;
}

/** Opens the first and only attempt of a request by `alice`. */
export async function openTestAttempt(
  { operation = "chat_completions", idleMs = 100, mayRepeat = false }:
    TestAttemptOptions = {},
): Promise<TestAttempt> {
  const config = await minimalConfig({ timeouts: { idle: idleMs } });
  const [caller] = config.callers.values();
  const [deployment] = config.pools.get("model-a") ?? [];
  if (!caller || !deployment) throw new Error("There is no alice or no model");
  const opened = openTestRecord();
  const body = new TextEncoder().encode('{"model":"model-a"}');
  const request = new Request("http://gateway/", { method: "POST" });
  const { record, holds } = opened;
  const control = followCaller(request, opened, {
    deadlines: createDeadlines(),
    afterMs: 0,
  });
  const reader = createRequestHeadReader({ operation });
  reader.push(body);
  return {
    ...opened,
    attempt: {
      exchange: {
        request,
        headers: request.headers,
        record,
        holds,
        caller,
        config,
        control,
      },
      operation,
      deployment,
      body: keepBody(body, () => {}),
      memory: createBodyMemory().open(2 ** 20, "alice"),
      head: reader.end(),
      overNewConnection: false,
      startedMs: 0,
      controller: control.controller,
      mayRepeat,
      mayFailOver: false,
      noteFailure() {},
      noteSent() {},
    },
  };
}
