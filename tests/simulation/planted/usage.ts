import type { FaultsByFile } from "./fault.ts";

/** Faults of limits and of counting. */
export const USAGE_FAULTS: FaultsByFile = {
  "gateway/usage/tally.ts": [
    {
      name: "the holds of a request stay",
      text:
        "    options.sums.apply({ additions: [], releases: admitted.holds });\n",
      wrong: "",
    },
    {
      name: "a call's holds stay when the next one begins",
      text: "    enter(deployments) {\n      release();\n",
      wrong: "    enter(deployments) {\n",
    },
    {
      name: "a request that was never sent counts",
      text: "called === undefined || wasNeverSent(ended.facts)",
      wrong: "called === undefined",
    },
    {
      name: "a request that ended while it was admitted keeps its hold",
      text: "    if (record.isFinished()) release();\n",
      wrong: "    if (record.isFinished()) called = undefined;\n",
      unseen: "the admission withdraws the call of a caller who has left",
    },
    {
      name: "a counted request keeps its holds",
      text: "          index === 0 ? admitted?.holds : undefined,\n",
      wrong: "          undefined,\n",
    },
    {
      name: "an answer whose caller left is free",
      text: `status < 400 || ending === "client_abort"`,
      wrong: `status < 400 && ending !== "client_abort"`,
    },
    {
      name: "the usage of a whole answer is estimated",
      text: `(ending === "complete" || answer.isUsageFinal === true)`,
      wrong: `(ending !== "complete" && answer.isUsageFinal === true)`,
    },
    {
      name: "an estimate looks like a report",
      text: "  if (!isFinal) answer.isUsageEstimated = true;\n",
      wrong: "",
    },
    {
      name: "a request counts twice",
      text: "      uses.forEach((use, index) =>\n",
      wrong: "      [...uses, ...uses].forEach((use, index) =>\n",
    },
  ],
  "gateway/usage/counting.ts": [
    {
      name: "the usage of a session is not counted",
      text:
        "      additions.push(...sessionAdditions(use, windows, amounts));\n",
      wrong: "",
    },
    {
      name: "the requests of a window are not counted",
      text: '  put("requests" satisfies LimitUnit, counts.requests);\n',
      wrong: "",
    },
    {
      name: "the tokens of a window are not counted",
      text: '  put("tokens" satisfies LimitUnit, tokensOf(counts));\n',
      wrong: "",
    },
    {
      name: "the requests of a window count twice",
      text: '  put("requests" satisfies LimitUnit, counts.requests);\n',
      wrong: '  put("requests" satisfies LimitUnit, 2 * counts.requests);\n',
    },
    {
      name: "output counts as input",
      text: "  put(fields.output, counts.output);\n",
      wrong: "  put(fields.input, counts.output);\n",
    },
    {
      name: "only the requests of limited callers are counted",
      text: "      const days = dayAmounts(counts, atMs);\n",
      wrong:
        "      const days = dayAmounts(counts, atMs);\n      if (caller.limits.length === 0) return;\n",
    },
    {
      name: "groups are not counted",
      text: '        ...groups.map((group) => namesOf("group", group.name)),\n',
      wrong: "",
    },
    {
      name: "counts go into the window before",
      text: "      atMs < shortest.endMs;\n",
      wrong: "      atMs < shortest.endMs + 600_000;\n",
    },
  ],
  "gateway/usage/limiter.ts": [
    {
      name: "a limit does not count its reset",
      text:
        "    return soon(sums.reserve(id, claims), ({ isGranted, uses }) => {\n      if (isGranted)",
      wrong:
        '    return soon(sums.reserve(id, claims), ({ isGranted, uses }) => {\n      if (isGranted || id === "")',
      unseen: "no request has an empty id",
    },
    {
      name: "a refusal is an admission",
      text: "        return refusalOf(wanted, claims, uses);\n      }\n",
      wrong: "        return admitted(claims, uses);\n      }\n",
    },
    {
      name: "the rest of a limit is refused",
      text: "  return left < amount ? { ...claim, amount: left } : claim;",
      wrong: "  return claim;",
    },
    {
      name: "the rest of a limit is claimed beside another request",
      text: "use === undefined || use.held > 0",
      wrong: "use === undefined",
    },
    {
      name: "answers teach nothing about the next one",
      text:
        "      outputs.set(caller, known + LAST_WEIGHT * (outputTokens - known));\n",
      wrong: "",
      unseen: "it changes how much is reserved, within what is allowed",
    },
    {
      name: "a limit is near from the beginning",
      text: "NEAR_RATIO = 0.8",
      wrong: "NEAR_RATIO = 0",
    },
  ],
  "gateway/usage/sums.ts": [
    {
      name: "a limit takes one too many",
      text: "usedOf(uses[index]) + amount <= most",
      wrong: "usedOf(uses[index]) + amount <= most + 1",
    },
    {
      name: "a limit takes one too few",
      text: "usedOf(uses[index]) + amount <= most",
      wrong: "usedOf(uses[index]) + amount < most",
    },
    {
      name: "holds do not count",
      text: "amount, use.held);",
      wrong: "amount, 0);",
    },
    {
      name: "one claim of several is enough",
      text: "claims.every(({ amount",
      wrong: "claims.some(({ amount",
    },
  ],
  "gateway/usage/holds.ts": [
    {
      name: "a removed hold stays in the total",
      text: "      if (isAmong(holds, hold)) add(hold.key, -hold.amount);\n",
      wrong: "      if (isAmong(holds, hold)) left += 0;\n",
    },
    {
      name: "a hold is not in the total",
      text: "        for (const { key, amount } of own) add(key, amount);\n",
      wrong: "",
    },
    {
      name: "a request's own hold counts against it",
      text: "total === 0 ? 0 : total - (find({ key, id })?.amount ?? 0)",
      wrong: "total",
      unseen: "each call of a request has an id of its own",
    },
  ],
  "gateway/usage/memory_sums.ts": [
    {
      name: "releases are ignored",
      text: "      holds.remove(releases);\n",
      wrong: "",
    },
    {
      name: "a granted claim holds nothing",
      text: "      if (decision.isGranted) {\n",
      wrong: "      if (!decision.isGranted) {\n",
    },
    {
      name: "a window that has ended still counts",
      text:
        "  function valueOf(sum: Sum): number {\n    return tables.find(sum)?.get(sum.field) ?? 0;",
      wrong:
        "  function valueOf(sum: Sum): number {\n    return tables.find(sum)?.get(sum.field) ?? 1;",
    },
    {
      name: "an addition replaces the sum",
      text: "(table.get(field) ?? 0) + amount",
      wrong: "amount",
    },
  ],
  "gateway/usage/alerts.ts": [
    {
      name: "each request near a limit is an alert",
      text:
        "    if (!await sums.once(`${name}\\t${half}`, resetsAtMs)) return false;\n",
      wrong: "    await sums.once(`${name}\\t${half}`, resetsAtMs);\n",
    },
    {
      name: "of several thresholds at once the lowest alone is an alert",
      text: "      if (isNew) sender.send(messageOf(use, threshold, now()));\n",
      wrong:
        "      if (isNew) return sender.send(messageOf(use, threshold, now()));\n",
    },
  ],
  "gateway/usage/alert_sender.ts": [
    {
      name: "an alert is tried once",
      text: "fault.isFinal || ms === undefined || isLast",
      wrong: "fault.isFinal || ms !== undefined || isLast",
    },
  ],
  "gateway/usage/tables.ts": [
    {
      name: "a session's life ends at midnight",
      text: "? { startMs: atMs, endMs: atMs + LIFE_MS }",
      wrong: '? calendarSpan("day", atMs)',
    },
    {
      name: "each request of a session begins its life again",
      text: "      if (endsAtMs < found.endsAtMs) {\n",
      wrong: "      if (endsAtMs > found.endsAtMs) {\n",
    },
    {
      name: "the same name of two callers is one session",
      text: "name: `${token}\\t${slot}` }",
      wrong: "name: `all\\t${slot}` }",
    },
  ],
  "gateway/usage/bounds.ts": [
    {
      name: "a limit of each session is one of the token",
      text: "{ ...bound, holder: sessionHolder(name, session) }",
      wrong: "bound",
    },
    {
      name: "a limit stays in its first window",
      text:
        "      if (known !== undefined && isIn(known.window, atMs)) return known;\n",
      wrong: "      if (known !== undefined) return known;\n",
    },
    {
      name: "the limits of groups do not count",
      text: "    ...groups.flatMap(ofGroup),\n",
      wrong: "",
    },
    {
      name: "a window's end belongs to it",
      text: "  return atMs >= startMs && atMs < endMs;\n",
      wrong: "  return atMs >= startMs && atMs <= endMs;\n",
    },
  ],
  "gateway/usage/need.ts": [
    {
      name: "the expected output is not reserved",
      text: "    expected: counts(Math.min(expectedTokens, ...output)),\n",
      wrong: "    expected: counts(0),\n",
    },
  ],
};
