import type { FaultsByFile } from "./fault.ts";

/** Faults of the queue. */
export const QUEUE_FAULTS: FaultsByFile = {
  "gateway/relay/queue/queue.ts": [
    {
      name: "a connection with a queue overtakes those who wait",
      text:
        "    if (this.#slots.isAwaited((one) => one === key)) return undefined;\n",
      wrong: "",
    },
    {
      name: "a kept slot is used, and stays kept",
      text:
        "      const { slot } = this.#kept;\n      this.#kept = undefined;\n",
      wrong: "      const { slot } = this.#kept;\n",
    },
    {
      name: "a kept slot is not used",
      text: "    if (this.#kept?.key === key) {\n",
      wrong: "    if (this.#kept?.key === null) {\n",
    },
    {
      name: "a kept slot that is not used stays",
      text: "    this.#kept?.slot.leave();\n",
      wrong: "",
    },
    {
      name: "a turn without a wait does not count as the session's turn",
      text: "      this.#slots.line.noteTurn(sessionOf(this.#exchange));\n",
      wrong: "",
    },
    {
      name: "a request waits although the gateway stops",
      text: "    if (admission.draining) throw shuttingDown();\n",
      wrong: "",
    },
    {
      name: "a caller who left begins to wait",
      text: "    signal.throwIfAborted();\n    if (admission",
      wrong: "    if (admission",
    },
    {
      name: "a second wait has a `max_wait` of its own",
      text: "this.#sinceMs ??= nowMs;",
      wrong: "this.#sinceMs = nowMs;",
    },
    {
      name: "a wait has no end",
      text: "      Math.ceil(waiter.untilMs - nowMs),\n",
      wrong: "      Infinity,\n",
    },
    {
      name: "a wait ends after half of its time",
      text: "      Math.ceil(waiter.untilMs - nowMs),\n",
      wrong: "      Math.ceil((waiter.untilMs - nowMs) / 2),\n",
    },
    {
      name: "a request waits in a line that is too long",
      text: "    if (!isTimely || ",
      wrong: "    if (",
    },
    {
      name:
        "the connection with the longest line decides whether a request waits",
      text: "expected.some((",
      wrong: "expected.every((",
    },
    {
      name: "a refusal has no Retry-After",
      text: 'return { kind: "full", expectedMs };',
      wrong: 'return { kind: "full" };',
    },
    {
      name: "a wait ignores that its caller leaves",
      text: "await settled(waiter.woken, signal, () => {});",
      wrong: "await waiter.woken.promise;",
    },
    {
      name: "the timer of a wait is not cancelled",
      text: "      cancel();\n      this.#slots.remove(waiter);\n",
      wrong: "      this.#slots.remove(waiter);\n",
      unseen: "it wakes a request that has been woken",
    },
    {
      name: "a request whose wait has ended stays in the line",
      text: "      cancel();\n      this.#slots.remove(waiter);\n",
      wrong: "      cancel();\n",
    },
    {
      name: "a wait is not in the log",
      text: "      this.#note(places, clock.elapsedMs() - nowMs);\n",
      wrong: "",
    },
    {
      name: "only the last wait is in the log",
      text: "    this.#waitedMs += ms;\n",
      wrong: "    this.#waitedMs = ms;\n",
    },
    {
      name: "a later wait counts from the start of the first one",
      text: "clock.elapsedMs() - nowMs",
      wrong: "clock.elapsedMs() - sinceMs",
    },
    {
      name: "a place to wait for is checked again too late",
      text: "dueMs: nowMs + Math.min(restMs, LOOK_AGAIN_MS)",
      wrong: "dueMs: nowMs + Math.max(restMs, LOOK_AGAIN_MS)",
    },
    {
      name: "a place to wait for is due at once",
      text: "dueMs: nowMs + Math.min(restMs, LOOK_AGAIN_MS)",
      wrong: "dueMs: nowMs",
    },
    {
      name: "a wait for a place ends with the first of several",
      text: "Math.max(...places.map(({ mostMs }) => mostMs))",
      wrong: "Math.min(...places.map(({ mostMs }) => mostMs))",
    },
    {
      name: "all agents of a session are one",
      text: "client?.agent === undefined ? session :",
      wrong: "client !== null ? session :",
    },
  ],
  "gateway/relay/queue/slots.ts": [
    {
      name: "a request overtakes those who wait at another thread",
      text: "this.line.isAwaited(isOne) || this.#shared.isAwaited(isOne)",
      wrong: "this.line.isAwaited(isOne)",
    },
    {
      name: "a caller that stops reading blocks another model's request",
      text: 'key.startsWith(keyOfIds(id, ""))',
      wrong: "key === keyOf(deployment)",
    },
    {
      name: "a caller that stops reading blocks those who wait for its slot",
      text: "      isAwaited: () => this.isSlotAwaited(deployment),\n",
      wrong: "",
    },
    {
      name: "a freed slot is not given out",
      text: "        this.giveOut();\n        if (this.#shared.turnsAt",
      wrong: "        if (this.#shared.turnsAt",
    },
    {
      name: "a connection's slot is freed without the gateway's own",
      text: "        isLeft = true;\n        leave();\n",
      wrong: "        isLeft = true;\n",
    },
    {
      name: "a slot that is left twice is counted twice",
      text: "        if (isLeft) return;\n",
      wrong: "",
    },
    {
      name: "a provider that refuses gets as many requests as before",
      text: "        limit.end();\n",
      wrong: "",
    },
    {
      name: "running requests do not count as use",
      text: "    this.#use.begin(caller, guessMs);\n",
      wrong: "",
    },
    {
      name: "ended requests do not count as use",
      text: "        this.#use.end(caller, guessMs, tookMs, nowMs);\n",
      wrong: "",
    },
    {
      name: "more requests run than the provider accepts",
      text: "    if (!limit.hasRoom) return undefined;\n",
      wrong: "",
    },
    {
      name: "waiting requests go on when the gateway stops",
      text:
        "      for (const { woken } of [...this.line]) woken.reject(shuttingDown());\n",
      wrong: "",
    },
    {
      name: "a new request in the line gets no free slot",
      text:
        "    this.line.add(waiter);\n    this.#noteChange(waiter);\n    this.giveOut();\n",
      wrong: "    this.line.add(waiter);\n    this.#noteChange(waiter);\n",
    },
    {
      name: "free slots are not given out",
      text: "    this.#isGiving = false;\n    this.#startTimer();\n",
      wrong: "    this.#startTimer();\n",
    },
    {
      name: "no timer gives out a slot when a place is due",
      text: "    this.#isGiving = false;\n    this.#startTimer();\n",
      wrong: "    this.#isGiving = false;\n",
    },
    {
      name: "a slot is never kept for a woken request",
      text: "      waiter.keep(key, slot);\n",
      wrong: "",
    },
    {
      name: "a woken request stays in the line",
      text: "      this.remove(waiter);\n      waiter.keep(key, slot);\n",
      wrong: "      waiter.keep(key, slot);\n",
    },
    {
      name: "a request with a slot is not woken",
      text: "      waiter.woken.resolve(ROOM);\n",
      wrong: "",
    },
    {
      name: "a turn does not put its session last",
      text: "      this.line.noteTurn(waiter.session);\n",
      wrong: "",
    },
    {
      name: "a full connection blocks the slots of all others",
      text: "        full.add(key);\n        continue;\n",
      wrong: "        break;\n",
    },
    {
      name: "a free slot is never left to another thread",
      text: "    return nowMs - sinceMs < POLL_MS;\n",
      wrong: "    return false;\n",
    },
    {
      name: "a free slot is left to another thread for ever",
      text: "    return nowMs - sinceMs < POLL_MS;\n",
      wrong: "    return true;\n",
    },
    {
      name: "a slot that is left to others is taken",
      text: "    leave();\n    const nowMs = this.options.clock.elapsedMs();\n",
      wrong: "    const nowMs = this.options.clock.elapsedMs();\n",
    },
    {
      name: "other threads do not learn of a free slot",
      text:
        "        if (this.#shared.turnsAt(key).length > 0) this.#shared.send();\n",
      wrong: "",
      unseen: "they try every 100 ms",
    },
    {
      name: "the use at other gateways does not count",
      text: "      this.#use.add(caller, ms, nowMs);\n",
      wrong: "",
    },
    {
      name: "the lines of others are not followed",
      text: "    this.#shared.follow(news);\n",
      wrong: "",
    },
    {
      name: "changes in another thread's line give out no slot",
      text: "    if (news.turns !== undefined) this.giveOut();\n",
      wrong: "",
      unseen: "each thread tries every 100 ms",
    },
    {
      name: "a caller may have a hundred and one waiting requests",
      text: "own.length >= MAX_WAITING_OF_CALLER",
      wrong: "own.length > MAX_WAITING_OF_CALLER",
    },
    {
      name: "any number of requests wait",
      text: "this.line.size < MAX_WAITING",
      wrong: "this.line.size < 1e9",
    },
    {
      name: "a request that gives way continues to wait",
      text: "    last.woken.resolve(FULL);\n",
      wrong: "",
    },
    {
      name: "at a full gateway no waiting request gives way",
      text: "      if (last === undefined) return false;\n      this.remove",
      wrong: "      if (last !== null) return false;\n      this.remove",
    },
    {
      name: "the length of the line does not count in its time",
      text: "(before + 1) * turnMs",
      wrong: "turnMs",
    },
    {
      name: "a provider's Retry-After does not count in the wait",
      text: "return Math.max(restMs, (before + 1) * turnMs);",
      wrong: "return (before + 1) * turnMs;",
    },
    {
      name: "requests at other threads do not lengthen the line",
      text: "    return this.#sharesSlots(deployment)\n      ? this.#shared",
      wrong: "    return this.options === undefined\n      ? this.#shared",
    },
    {
      name: "a slot that another thread frees is never tried",
      text: "isShared ? POLL_MS : Infinity",
      wrong: "isShared ? Infinity : Infinity",
    },
    {
      name: "the learned capacity of a provider is lost at each check",
      text: "    this.#limits.set(key, limit);\n",
      wrong: "",
    },
    {
      name: "a request joins the line of another connection",
      text: "        connection.id === connectionId\n",
      wrong: "        connection.id !== connectionId\n",
    },
  ],
  "gateway/relay/queue/waiting_line.ts": [
    {
      name: "background work comes first",
      text:
        "      Number(standsBack(one, nowMs)) - Number(standsBack(other, nowMs)) ||\n",
      wrong:
        "      Number(standsBack(other, nowMs)) - Number(standsBack(one, nowMs)) ||\n",
    },
    {
      name: "background work is like any other",
      text:
        "      Number(standsBack(one, nowMs)) - Number(standsBack(other, nowMs)) ||\n",
      wrong: "",
    },
    {
      name: "background work waits behind people without an end",
      text: "isBackground && nowMs < backUntilMs",
      wrong: "isBackground",
    },
    {
      name: "the caller with the most use is next",
      text: "      shareOf(one) - shareOf(other) ||\n",
      wrong: "      shareOf(other) - shareOf(one) ||\n",
    },
    {
      name: "use does not decide the order",
      text: "      shareOf(one) - shareOf(other) ||\n",
      wrong: "",
    },
    {
      name: "a higher weight gives less time",
      text: "this.#use.of(digest, nowMs) / weight",
      wrong: "this.#use.of(digest, nowMs) * weight",
    },
    {
      name: "a weight does not count",
      text: "this.#use.of(digest, nowMs) / weight",
      wrong: "this.#use.of(digest, nowMs)",
    },
    {
      name: "the caller with the fewest waiting requests gives way",
      text: "      loadOf(one) - loadOf(other) ||\n",
      wrong: "      loadOf(other) - loadOf(one) ||\n",
    },
    {
      name: "the caller with the most waiting requests does not give way",
      text: "      loadOf(one) - loadOf(other) ||\n",
      wrong: "",
    },
    {
      name: "background work gives no place in a full line",
      text: "      Number(one.isBackground) - Number(other.isBackground) ||\n",
      wrong: "",
    },
    {
      name: "background work takes a place from people",
      text: "(waiter.isBackground || !newcomer.isBackground) &&",
      wrong: "",
    },
    {
      name:
        "any caller with more waiting requests gives way, not the one with the most",
      text: "(last ? yields >= 0 : yields > 0)",
      wrong: "last === undefined && yields > 0",
    },
    {
      name: "sessions do not take turns",
      text: "      bySession(one.session, other.session) ||\n",
      wrong: "",
    },
    {
      name: "the last one in the line is first",
      text:
        "      bySession(one.session, other.session) ||\n      one.sinceMs - other.sinceMs;\n",
      wrong:
        "      bySession(one.session, other.session) ||\n      other.sinceMs - one.sinceMs;\n",
    },
    {
      name: "a request waits for one place only",
      text: ".find(([key, { dueMs }]) => dueMs <= nowMs && !full.has(key));",
      wrong:
        ".find(([key, { dueMs }], at) => at === 0 && dueMs <= nowMs && !full.has(key));",
    },
    {
      name: "a slot is given before its place is due",
      text: ".find(([key, { dueMs }]) => dueMs <= nowMs && !full.has(key));",
      wrong: ".find(([key]) => !full.has(key));",
    },
    {
      name: "the earliest of several due times sets no timer",
      text:
        "        if (dueMs > nowMs) nextMs = Math.min(nextMs, dueMs - nowMs);\n",
      wrong:
        "        if (dueMs > nowMs) nextMs = Math.max(0, dueMs - nowMs);\n",
    },
    {
      name: "a request that waits for a limit blocks new requests",
      text: "  return (places.get(key)?.dueMs ?? Infinity) <= nowMs;\n",
      wrong: "  return places.has(key);\n",
    },
    {
      name: "requests at other threads never come first",
      text: "    return elsewhere.some((other) => order(other, waiter) < 0);\n",
      wrong:
        "    return elsewhere.every((other) => order(other, waiter) > 9);\n",
    },
    {
      name: "only one request of a caller at another thread counts",
      text: "count += other.count;",
      wrong: "count += 1;",
    },
    {
      name: "a thread does not publish its waiting requests",
      text: "      .filter((waiter) => isDue(waiter, key, nowMs))\n",
      wrong: "      .filter((waiter) => !isDue(waiter, key, nowMs))\n",
    },
  ],
  "gateway/relay/queue/recent_use.ts": [
    {
      name: "use never fades",
      text: "HALF_LIFE_MS = 120_000",
      wrong: "HALF_LIFE_MS = 1e12",
    },
    {
      name: "use fades at once",
      text: "HALF_LIFE_MS = 120_000",
      wrong: "HALF_LIFE_MS = 100",
    },
    {
      name: "running requests count as use even after their end",
      text: "Math.max(0, use.runningMs - guessMs)",
      wrong: "use.runningMs",
    },
    {
      name: "a use replaces the one before",
      text: "Math.max(0, faded(use, nowMs) + ms)",
      wrong: "Math.max(0, ms)",
    },
    {
      name: "the time of a use is not noted",
      text: "    use.atMs = nowMs;\n",
      wrong: "",
    },
    {
      name: "the sum of use leaves out running requests",
      text: "faded(use, nowMs) + use.runningMs",
      wrong: "faded(use, nowMs)",
    },
  ],
  "gateway/relay/queue/adaptive_limit.ts": [
    {
      name: "a 429 lowers nothing",
      text: "Math.min(lowered, this.#running - 1)",
      wrong: "Math.min(Infinity, this.#most)",
    },
    {
      name: "a 429 does not lower the learned capacity",
      text: "Math.min(lowered, this.#running - 1)",
      wrong: "Math.min(lowered, this.#running + 1)",
    },
    {
      name: "a 429 may stop everything",
      text: "Math.max(1, Math.min(lowered",
      wrong: "Math.max(0, Math.min(lowered",
    },
    {
      name: "a limit never rises",
      text: "    this.#most += Math.max(1, INCREASE * this.#most);\n",
      wrong: "",
    },
    {
      name: "a limit rises with each answer",
      text: "    if (nowMs - this.#raisedMs < RAISE_MS) return;\n",
      wrong: "",
    },
    {
      name: "a limit stays for ever",
      text:
        "    if (nowMs - this.#refusedMs > CALM_MS) this.#most = Infinity;\n",
      wrong: "",
    },
    {
      name: "the learned capacity is one too high",
      text: "return this.#running < this.most;",
      wrong: "return this.#running <= this.most;",
    },
    {
      name: "the average duration is that of the last request",
      text: "this.#averageMs + NEWEST_SHARE * (tookMs - this.#averageMs)",
      wrong: "tookMs",
      unseen: "the time of a line is an estimate",
    },
  ],
  "gateway/relay/queue/waiting_places.ts": [
    {
      name: "a 429 without a time is not waited for",
      text: "failure.retryAfterMs ?? UNKNOWN_WAIT_MS",
      wrong: "failure.retryAfterMs",
    },
    {
      name: "a request waits for fallbacks only",
      text: "return [...own, ...fallbacks]\n",
      wrong: "return [...fallbacks]\n",
    },
    {
      name: "a request does not wait for a fallback",
      text: "return [...own, ...fallbacks]\n",
      wrong: "return [...own]\n",
    },
    {
      name:
        "a conversation waits for its own connection for the whole `max_wait`",
      text: "HOME_SHARE = 0.5",
      wrong: "HOME_SHARE = 1",
    },
    {
      name: "a conversation does not wait for its own connection",
      text: "waitedMs + place.restMs < mostMs ?",
      wrong: "waitedMs + place.restMs < 0 ?",
    },
    {
      name: "a request waits for a connection that failed",
      text: `failure.kind !== "rate_limited")) {\n    return undefined;`,
      wrong: `failure.kind === "overloaded")) {\n    return undefined;`,
    },
    {
      name: "a request waits for a connection that cools down",
      text:
        "  if (coolMs > 0 && !health.isRequestedWait(deployment, caller)) {\n",
      wrong:
        "  if (coolMs < 0 && !health.isRequestedWait(deployment, caller)) {\n",
    },
    {
      name: "no request waits for the end of another request's 429",
      text:
        "  if (coolMs > 0 && !health.isRequestedWait(deployment, caller)) {\n",
      wrong: "  if (coolMs > 0) {\n",
    },
    {
      name: "a request does not wait for the provider's Retry-After",
      text: "Math.max(coolMs, last?.retryAfterMs ?? 0)",
      wrong: "Math.max(coolMs, 0)",
      unseen: "the cool-down after the 429 has the same time",
    },
    {
      name: "a wait for a limit has no time",
      text: "const restMs = limitedUntilMs - clock.now();",
      wrong: "const restMs = 0 * limitedUntilMs;",
    },
  ],
  "gateway/relay/queue/background.ts": [
    {
      name: "a batch is no background work",
      text: '  "batch",\n',
      wrong: "",
    },
    {
      name: "a subagent is no background work",
      text: "client?.agent !== undefined || ",
      wrong: "",
    },
  ],
  "gateway/relay/queue/shared_line.ts": [
    {
      name: "a change in the line is sent once",
      text: "      if (own.waiting > 0) this.note(key, deployment);\n",
      wrong: "",
    },
    {
      name: "changes in the line are never sent",
      text:
        "    this.#cancel ??= deadlines.start(SEND_MS, () => this.send());\n",
      wrong: "",
    },
    {
      name: "use is sent twice",
      text: "    this.#unsent.clear();\n",
      wrong: "",
    },
    {
      name: "only the last use of a caller is sent",
      text: "use.ms + (used.get(use.caller) ?? 0)",
      wrong: "use.ms",
    },
    {
      name: "a line that is empty stays",
      text: "    if (load.waiting === 0) lines.delete(from);\n    else {",
      wrong: "    if (load.waiting < 0) lines.delete(from);\n    else {",
    },
    {
      name: "the line of a gateway that has ended stays",
      text: "nowMs < untilMs);",
      wrong: "nowMs < untilMs + 1e9);",
    },
    {
      name: "the lines of others never count",
      text: "nowMs < untilMs);",
      wrong: "nowMs > untilMs);",
    },
    {
      name: "requests at other threads count as new",
      text: "          sinceMs: nowMs - waitedMs,\n",
      wrong: "          sinceMs: nowMs,\n",
    },
  ],
};
