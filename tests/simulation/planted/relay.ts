import type { FaultsByFile } from "./fault.ts";

/** Faults of the relay, without its routing. */
export const RELAY_FAULTS: FaultsByFile = {
  "gateway/relay/failover.ts": [
    {
      name: "a body is kept after the response has begun",
      text: "      task.body.release();\n",
      wrong: "",
      unseen:
        "the memory of the request ends with it, and a body is short before it",
    },
    {
      name: "the limit's warning is left out",
      text: "      gate.warn(outcome, task.operation);\n",
      wrong: "",
    },
    {
      name: "a failed attempt is not remembered",
      text: "    failed.push(outcome);\n",
      wrong: "",
    },
    {
      name: "a failed attempt is not aborted",
      text: "    exchange.control.nextAttempt();\n",
      wrong: "",
    },
    {
      name: "a connection's slot is not freed after success",
      text: "    holds.slot = slot;\n",
      wrong: "",
    },
    {
      name: "a connection's slot is not freed after failure",
      text: "slot.refused?.();\n      slot.leave();\n",
      wrong: "slot.refused?.();\n",
    },
    {
      name: "a complete answer counts as a failure",
      text: "report.succeeded();\n",
      wrong: "report.failed(BROKE_OFF);\n",
    },
    {
      name: "a caller that leaves counts as a failure",
      text: "      } else report.dismissed();\n    };\n",
      wrong: "      } else report.failed(BROKE_OFF);\n    };\n",
    },
    {
      name: "an answer that breaks off is not reported",
      text: `else if (ending === "upstream_broken") {`,
      wrong: `else if (ending === "error") {`,
    },
    {
      name: "a failure is not reported to health",
      text:
        "      if (renewed === undefined) report.failed(failure);\n      else",
      wrong: "      if (renewed !== null)",
    },
    {
      name: "an attempt's result is not dismissed when the caller left",
      text: "      report.dismissed();\n      slot.leave();\n      attempt",
      wrong: "      slot.leave();\n      attempt",
    },
    {
      name: "an attempt goes on when the caller left",
      text: "      slot.leave();\n      attempt.controller.abort();\n",
      wrong: "      slot.leave();\n",
      unseen: "the caller's leaving has aborted it already",
    },
    {
      name: "a failed attempt is not in the log",
      text: "    noteFailed(failure, context.exchange);\n",
      wrong: "",
    },
    {
      name: "an attempt does not clear the answer before it",
      text: "  facts.answer = {};\n",
      wrong: "",
    },
    {
      name: "the beginning of the last attempt is held back for another",
      text: ".length + 1 < MAX_ATTEMPTS",
      wrong: ".length < MAX_ATTEMPTS",
    },
    {
      name: "the beginning is never held back for another connection",
      text:
        "mayFailOver: mayRepeat && (own.some(isOther) || fallbacks.some(isOther)),",
      wrong: "mayFailOver: false,",
    },
    {
      name: "a repeat uses a kept connection",
      text: "one.candidate === candidate && failure.status === undefined",
      wrong: "one.candidate === candidate && failure.status === null",
    },
    {
      name: "another provider's kept connection is used after a loss",
      text: "        failure.wasLost ||\n",
      wrong: "",
    },
    {
      name: "a conversation does not stay where it was served",
      text: "      await context.task.candidates.onServed?.(candidate);\n",
      wrong: "",
    },
  ],
  "gateway/relay/attempt_admission.ts": [
    {
      name: "the body of a waiting request never gives way",
      text: "memory.wait((error) => control.cancel(error))",
      wrong: "() => {}",
    },
    {
      name: "a silent connection is asked again instead of waiting for another",
      text: "=> mayReturn || !isReturn",
      wrong: "=> mayReturn || isReturn !== undefined",
    },
    {
      name: "an attempt that the limits refuse keeps its slot",
      text: "        begun.slot.leave();\n        begun.report.dismissed();\n",
      wrong: "        begun.report.dismissed();\n",
    },
    {
      name: "an attempt that the limits refuse keeps its probe",
      text: "        begun.slot.leave();\n        begun.report.dismissed();\n",
      wrong: "        begun.slot.leave();\n",
    },
    {
      name: "an attempt without a slot keeps its probe",
      text:
        "    if (slot !== undefined) return { next, report, slot };\n    report.dismissed();\n",
      wrong: "    if (slot !== undefined) return { next, report, slot };\n",
    },
    {
      name: "the last resort is never tried",
      text: "  { hasNoAlternative: true, isLastResort: true },\n",
      wrong: "",
    },
    {
      name: "a probe goes beside another when there is an alternative",
      text: "  { hasNoAlternative: false, isLastResort: false },\n",
      wrong: "",
    },
    {
      name: "a repeat does not wait for its turn",
      text: "    await wait(waitMs, { deadlines, signal });\n",
      wrong: "",
    },
    {
      name: "a repeat's pause ignores that the caller left",
      text: "await wait(waitMs, { deadlines, signal });",
      wrong:
        "await wait(waitMs, { deadlines, signal: signal && new AbortController().signal });",
      unseen: "a pause takes five seconds at most, and nothing follows it",
    },
    {
      name: "the limits are not asked",
      text: "await gate.enter(candidate);",
      wrong: "gate !== undefined;",
    },
  ],
  "gateway/relay/next_attempts.ts": [
    {
      name: "four attempts are made",
      text: "MAX_ATTEMPTS = 3",
      wrong: "MAX_ATTEMPTS = 4",
    },
    {
      name: "two attempts are made",
      text: "MAX_ATTEMPTS = 3",
      wrong: "MAX_ATTEMPTS = 2",
    },
    {
      name: "a long Retry-After is waited for",
      text: "MAX_WAIT_MS = 5000",
      wrong: "MAX_WAIT_MS = 500_000_000",
    },
    {
      name: "a short Retry-After is not kept to",
      text: ": retryAfterMs * (1 + MAX_LATENESS * random());",
      wrong: ": 0 * (1 + MAX_LATENESS * random());",
    },
    {
      name: "an invalid request is tried elsewhere",
      text: `invalid_request: "nothing"`,
      wrong: `invalid_request: "elsewhere"`,
    },
    {
      name: "an unreachable provider ends the request",
      text: `  unreachable: "again"`,
      wrong: `  unreachable: "nothing"`,
    },
    {
      name: "a refused key ends the request",
      text: `  authentication: "elsewhere"`,
      wrong: `  authentication: "nothing"`,
    },
    {
      name: "an overloaded provider is not tried again",
      text: `  overloaded: "again"`,
      wrong: `  overloaded: "nothing"`,
    },
    {
      name: "a deployment that failed counts as untried",
      text: "sent.every((other) => other.candidate !== one));",
      wrong: "sent.length > 0 || one !== undefined);",
    },
    {
      name: "the same connection comes before an untried one",
      text: "? [...same, ...others, ...again, ...otherModels]",
      wrong: "? [...same, ...again, ...others, ...otherModels]",
    },
    {
      name: "fallbacks come before the model's own connections",
      text: "? [...same, ...others, ...again, ...otherModels]",
      wrong: "? [...otherModels, ...same, ...others, ...again]",
    },
    {
      name: "the only deployment gets no second attempt after a silence",
      text: "silent.length === 1\n",
      wrong: "silent.length === 9\n",
    },
    {
      name: "a silent deployment gets a second attempt after another silence",
      text: "silent.length === 1\n",
      wrong: "silent.length > 0\n",
    },
    {
      name: "the deadline of the first output is waited for again",
      text: " && !hadOutputDeadline",
      wrong: "",
    },
    {
      name: "the same connection comes first however long it was silent",
      text: "silentMs > MAX_WAIT_MS",
      wrong: "silentMs > 9 * MAX_WAIT_MS ** 2",
    },
    {
      name: "a second Retry-After is waited for before an untried connection",
      text: "if (!isOwn || left === 1) {",
      wrong: "if (!isOwn) {",
    },
  ],
  "gateway/relay/answer_body.ts": [
    {
      name: "a broken answer is not aborted",
      text: `      if (end.kind !== "complete") controller.abort();\n`,
      wrong: "",
      unseen: "the reader that failed has closed its connection",
    },
    {
      name: "a whole answer counts as left when its caller leaves after it",
      text: `answerEnd === "whole" && end.kind !== "stalled"`,
      wrong: `answerEnd === "whole" && !signal.aborted`,
    },
    {
      name: "an error in a stream counts as complete",
      text:
        `    return failure?.kind === "oversized" ? "error" : "upstream_broken";`,
      wrong: `    return "complete";`,
    },
    {
      name: "an answer that was cut counts as complete",
      text:
        `      facts.reason = "its answer ended before it was whole";\n      return "upstream_broken";`,
      wrong: `      return "complete";`,
    },
    {
      name: "the idle timeout of an answer is missing",
      text: "    idleMs: connection.timeouts.idleMs,\n",
      wrong: "    idleMs: 0,\n",
    },
    {
      name: "the reader of an answer ignores the abort",
      text: "    idleMs: connection.timeouts.idleMs,\n    signal,\n",
      wrong:
        "    idleMs: connection.timeouts.idleMs,\n    signal: new AbortController().signal,\n",
      unseen: "the client's connection closes at the same abort",
    },
    {
      name: "a key in an answer is not masked",
      text: "  return new WatchedReader(chunks, watched, change);",
      wrong: "  return new WatchedReader(chunks, watched);",
    },
    {
      name: "a beginning is held back for ever",
      text: "  if (waitsWithoutLimit) return await look();\n",
      wrong:
        "  if (waitsWithoutLimit || isLate === false) return await look();\n",
    },
  ],
  "gateway/relay/attempt.ts": [
    {
      name: "the deadline of the first output is missing",
      text: "return endsAtOutput(attempt) ? firstOutputMs : firstByteMs;",
      wrong: "return endsAtOutput(attempt) ? firstByteMs : firstByteMs;",
    },
    {
      name: "the first output has its whole time after the head",
      text: "startedMs + firstOutputMs - deadlines.elapsedMs()",
      wrong: "firstOutputMs",
    },
  ],
  "gateway/relay/attempt_failure.ts": [
    {
      name: "a lost connection counts against the provider",
      text:
        "wasLost: thrown instanceof UpstreamCallError &&\n      thrown.cause instanceof Http1Failure && thrown.cause.wasLost,",
      wrong: "wasLost: false,",
    },
    {
      name: "every break counts as a lost connection",
      text:
        "wasLost: thrown instanceof UpstreamCallError &&\n      thrown.cause instanceof Http1Failure && thrown.cause.wasLost,",
      wrong: "wasLost: thrown instanceof UpstreamCallError,",
    },
  ],
  "gateway/relay/exchange.ts": [
    {
      name: "a caller that leaves ends nothing",
      text: "    if (!record.isFinished()) control.cancel(new CallerLeft());\n",
      wrong: "",
    },
    {
      name: "an attempt follows although the caller left",
      text: "    if (this.#over !== undefined) throw this.#over;\n",
      wrong: "",
    },
    {
      name: "a failed attempt's exchange goes on",
      text: "    this.#controller.abort();\n    if (this.#over",
      wrong: "    if (this.#over",
      unseen: "each failure has closed its connection, or its answer is whole",
    },
    {
      name: "a caller that left before is not noticed",
      text: "    if (signal.aborted) leave();\n",
      wrong: "",
    },
  ],
  "gateway/relay/native/beginning.ts": [
    {
      name: "a failure in a stream's beginning passes",
      text:
        "    if (beginning !== undefined) throwFailure(beginning, options);\n",
      wrong: "",
    },
    {
      name: "a refused beginning is not closed",
      text:
        "  } catch (cause) {\n    abandon(source);\n    throw failedReading",
      wrong: "  } catch (cause) {\n    throw failedReading",
      unseen: "the end of the attempt aborts it, too",
    },
    {
      name: "output is held until the end of an answer",
      text: `      if (events >= MAX_EVENTS) found ??= { kind: "good" };\n`,
      wrong: "",
    },
  ],
  "gateway/upstream/vertex_claude.ts": [
    {
      name: "a model keeps its name for the provider",
      text: "const name = JSON.stringify(model.upstream);\n",
      wrong: "const name = JSON.stringify(requested);\n",
    },
  ],
  "gateway/relay/native/relay_native.ts": [
    {
      name: "a cut JSON answer passes as whole",
      text: `      throw brokenUpstream("its JSON is not whole");\n`,
      wrong: "",
      unseen:
        "a whole answer with a length is cut only when the client has failed",
    },
    {
      name: "a cut stream looks complete",
      text: `      isWhole: () => meter.end(true) !== "cut",\n`,
      wrong: "      isWhole: () => true,\n",
    },
  ],
  "gateway/relay/request/admission.ts": [
    {
      name: "a request that ends stays counted",
      text: "    counts.requests.remove();\n    if (draining",
      wrong: "    if (draining",
    },
    {
      name: "a request refused by its token's limit stays counted",
      text:
        "      if (leaveCaller === undefined) {\n        counts.requests.remove();\n",
      wrong: "      if (leaveCaller === undefined) {\n",
    },
    {
      name: "a token's running requests never end",
      text: "        leaveCaller();\n        leave(takeOut);\n",
      wrong: "        leave(takeOut);\n",
    },
    {
      name: "a key takes one request too many",
      text: "most !== undefined && count >= most",
      wrong: "most !== undefined && count > most",
    },
    {
      name: "a slot is freed twice",
      text: "      return once(() => give(key));",
      wrong: "      return () => give(key);",
      unseen: "each place is left once; this guards later code",
    },
    {
      name: "a drain never ends",
      text: "    if (draining && admitted.size === 0) drained.resolve();\n",
      wrong: "",
    },
  ],
  "gateway/relay/request/body.ts": [
    {
      name: "a body's deadline is missing",
      text: "    () => controller.abort(bodyTimeout()),\n",
      wrong: "    () => {},\n",
    },
    {
      name: "a body's timer stays",
      text: "  } finally {\n    cancel();\n    end();\n",
      wrong: "  } finally {\n    end();\n",
      unseen: "what it aborts is over",
    },
    {
      name: "an upload never ends",
      text: "  } finally {\n    cancel();\n    end();\n",
      wrong: "  } finally {\n    cancel();\n",
    },
    {
      name: "a body that breaks off is taken for whole",
      text:
        `  return new CallerLeft("The caller's body broke off", { cause: error });`,
      wrong: `  return error;`,
    },
  ],
  "gateway/relay/request/body_memory.ts": [
    {
      name: "the memory of a body is not given back",
      text: "    this.give(this.bytes);\n",
      wrong: "",
    },
    {
      name: "the memory of a loan is not given back",
      text: "      left -= rest;\n      this.give(rest);\n",
      wrong: "      left -= rest;\n",
      unseen:
        "only other threads translate with a loan, and a history has none",
    },
    {
      name: "a body that is released is given back twice",
      text: "    this.bytes -= given;\n",
      wrong: "",
    },
  ],
  "gateway/relay/relay.ts": [
    {
      name: "a request's memory is not closed",
      text: "  holds.memory = memory;\n",
      wrong: "",
    },
    {
      name: "a whole answer's request never ends",
      text: `  if (isWhole(answer)) endRequest(exchange, "complete");\n`,
      wrong: "",
    },
    {
      name: "every request is counted as free",
      text: `operation === "count_tokens" ? undefined`,
      wrong: `operation !== "count_tokens" ? undefined`,
    },
  ],
  "gateway/relay/translated/answer_watch.ts": [
    {
      name: "a translated failure before output passes",
      text:
        "        throw signal.aborted ? signal.reason : new UpstreamFailure(failure);\n",
      wrong: "",
    },
    {
      name: "a translated stream that was cut looks whole",
      text: `      if (isWhole) return "whole";\n`,
      wrong: `      if (hasOutput) return "whole";\n`,
    },
  ],
  "gateway/relay/translated/translating_reader.ts": [
    {
      name: "a translated stream is not read out at its end",
      text:
        "      if (!done && translator.isOver()) readOut(upstream, deadlines);\n",
      wrong: "",
    },
  ],
  "gateway/relay/translated/answer_reader.ts": [
    {
      name: "a translated answer that fails is not aborted",
      text: "      controller.abort(failure);\n",
      wrong: "",
      unseen: "the end of the attempt aborts it, too",
    },
  ],
};
