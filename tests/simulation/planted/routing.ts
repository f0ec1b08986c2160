import type { FaultsByFile } from "./fault.ts";

/** Faults of the relay's routing: health, cool-downs, conversations, identity. */
export const ROUTING_FAULTS: FaultsByFile = {
  "gateway/config/selection.ts": [
    {
      name: "regions are not checked",
      text: "  const connectionIds = assignedIds.intersection(inside);\n",
      wrong: "  const connectionIds = assignedIds;\n",
    },
  ],
  "gateway/relay/routing/breaker.ts": [
    {
      name: "a cool-down follows the fourth failure",
      text: "FAILURES_TO_COOL = 3",
      wrong: "FAILURES_TO_COOL = 4",
    },
    {
      name: "a cool-down follows each failure",
      text: "FAILURES_TO_COOL = 3",
      wrong: "FAILURES_TO_COOL = 1",
    },
    {
      name: "a cool-down takes minutes",
      text: "MAX_COOL_MS = 15_000",
      wrong: "MAX_COOL_MS = 1_500_000",
    },
    {
      name: "a provider may keep callers away for days",
      text: "MAX_REQUESTED_MS = 3_600_000",
      wrong: "MAX_REQUESTED_MS = 3_600_000_000",
    },
    {
      name: "a provider's long wait is never probed",
      text: "LIMIT_PROBE_MS = 300_000",
      wrong: "LIMIT_PROBE_MS = 300_000_000",
    },
    {
      name: "a success does not clear the failures",
      text: "    this.#failures = 0;\n    this.#coolMs = 0;\n",
      wrong: "    this.#coolMs = 0;\n",
    },
    {
      name: "a success does not shorten the next cool-down",
      text: "    this.#failures = 0;\n    this.#coolMs = 0;\n",
      wrong: "    this.#failures = 0;\n",
    },
    {
      name: "a dismissed probe stays",
      text: "    if (attempt.isProbe) this.#probes -= 1;\n",
      wrong: "",
    },
    {
      name: "no probe follows a cool-down",
      text:
        "    this.#needsProbe = true;\n    this.#coolDown(this.#coolMs, cause);\n",
      wrong: "    this.#coolDown(this.#coolMs, cause);\n",
    },
    {
      name: "an answered probe does not end the probing",
      text: "    this.#needsProbe = false;\n    return true;\n",
      wrong: "    return true;\n",
    },
    {
      name: "old attempts count against a breaker",
      text: "    return coolDowns === this.#coolDowns;\n",
      wrong: "    return coolDowns <= this.#coolDowns;\n",
    },
    {
      name: "a repeat counts as a failure of its own",
      text: "!attempt.isRepeat &&\n",
      wrong: "\n",
    },
    {
      name: "a probe's pause never grows",
      text: "Math.min(doublings * PROBES_DOUBLE_MS, ADMIT_ALL_MS)",
      wrong: "Math.max(doublings * PROBES_DOUBLE_MS, 3_600_000)",
    },
    {
      name: "a long wait does not end when the provider answers",
      text: "    this.#coolUntilMs = 0;\n    return true;\n",
      wrong: "    return true;\n",
    },
    {
      name: "a cool-down ends at once",
      text: "this.#coolUntilMs = this.#clock.elapsedMs() + forMs;",
      wrong: "this.#coolUntilMs = this.#clock.elapsedMs();",
    },
  ],
  "gateway/relay/routing/breaker_by_token.ts": [
    {
      name: "one token's failures keep all away",
      text: "    this.#hasOther ||= this.#first !== token;\n",
      wrong: "    this.#hasOther = true;\n",
    },
    {
      name: "a token's cool-down hits another",
      text:
        "const breaker = isForAll ? this.#forAll : this.#ownOf(attempt.token);",
      wrong: `const breaker = isForAll ? this.#forAll : this.#ownOf("");`,
    },
    {
      name: "a token's wait is not found",
      text:
        "      this.#forAll.restMs(),\n      this.#byToken.get(token)?.restMs() ?? 0,\n",
      wrong: "      this.#forAll.restMs(),\n",
    },
    {
      name: "a cool-down for all callers keeps the failures of each token",
      text: "    this.#cooledBy = token;\n    this.#dropFailing();\n",
      wrong: "    this.#cooledBy = token;\n",
    },
    {
      name: "a success of one token does not clear its failures",
      text: "    own?.succeeded(attempt.own);\n",
      wrong: "",
    },
    {
      name: "a success does not forget which tokens were limited",
      text: "    this.#failing.forget();\n    this.#limited.forget();\n",
      wrong: "    this.#failing.forget();\n",
    },
    {
      name: "a success does not forget which tokens failed",
      text: "    this.#failing.forget();\n    this.#limited.forget();\n",
      wrong: "    this.#limited.forget();\n",
    },
  ],
  "gateway/relay/routing/attempt_report.ts": [
    {
      name: "a report counts twice",
      text: "    const isFirst = !this.#isOver;\n",
      wrong: "    const isFirst = true;\n",
      unseen: "each attempt reports its end in one place",
    },
    {
      name: "a model's failure cools down its connection",
      text: `  server: "model",`,
      wrong: `  server: "connection",`,
    },
    {
      name: "a rate limit cools down nothing",
      text: `  rate_limited: "model",`,
      wrong: `  rate_limited: "nobody",`,
    },
    {
      name: "an unreachable connection cools down nothing",
      text: `  unreachable: "connection",`,
      wrong: `  unreachable: "nobody",`,
    },
    {
      name: "an invalid request cools down its model",
      text: `  invalid_request: "request",`,
      wrong: `  invalid_request: "model",`,
    },
    {
      name: "a response does not end the probing of its connection",
      text: "    this.#options.connection.answered(this.#connectionAttempt);\n",
      wrong: "",
    },
    {
      name: "an unreachable connection keeps its model's probe",
      text: "    model.dismissed(this.#modelAttempt);\n    const cause",
      wrong: "    const cause",
    },
    {
      name: "a dismissed attempt keeps its connection's probe",
      text:
        "    this.#options.connection.dismissed(this.#connectionAttempt);\n",
      wrong: "",
    },
  ],
  "gateway/relay/routing/health.ts": [
    {
      name: "a cool-down does not stop attempts",
      text: "  if (breaker.restMs(token) > 0) {",
      wrong: "  if (breaker.restMs(token) > 1e12) {",
    },
    {
      name: "a model's cool-down is not looked at",
      text: "admits(connection, options) && admits(model, options)",
      wrong: "admits(connection, options)",
    },
    {
      name: "a last resort is never allowed",
      text: "    return isLastResort && breaker.nextTryMs(token) === 0;\n",
      wrong: "    return false;\n",
    },
    {
      name: "a reading with room does not end a wait",
      text: "if (waiting.length === 0) return void",
      wrong: "if (waiting.length === 1) return void",
    },
    {
      name: "a cool-down is not logged",
      text: `    log.write("cooling_down", {`,
      wrong: `    void ({`,
    },
  ],
  "gateway/relay/routing/retry_budget.ts": [
    {
      name: "the retry budget never ends",
      text: "      counts.retries += 1;\n",
      wrong: "",
    },
    {
      name: "the retry budget is never renewed",
      text: "nowMs - known.sinceMs < PERIOD_MS",
      wrong: "nowMs >= known.sinceMs",
    },
  ],
  "gateway/relay/routing/conversations.ts": [
    {
      name: "a conversation is sent to the file's first connection",
      text: "  if (home === undefined || idOf(own[0]) === home) return own;\n",
      wrong: "  if (home !== null) return own;\n",
    },
    {
      name: "a conversation's move is not reported",
      text:
        "        if (!this.#settle(id, candidate, { request, before })) return;\n",
      wrong:
        "        if (this.#settle(id, candidate, { request, before })) return;\n",
    },
    {
      name: "a conversation moves to its fallback",
      text: "    if (!own.includes(candidate)) return false;\n",
      wrong: "",
    },
    {
      name: "a conversation is forgotten after a minute",
      text: "CONVERSATION_MS = 3_600_000",
      wrong: "CONVERSATION_MS = 60_000",
    },
    {
      name: "the last of parallel requests decides",
      text: "now === undefined || now === before",
      wrong: "now !== null",
    },
  ],
};
