import type { FaultsByFile } from "./fault.ts";

/** Faults of short-lived tokens of providers. */
export const EXCHANGE_FAULTS: FaultsByFile = {
  "gateway/upstream/token_exchange/token_book.ts": [
    {
      name: "a token is not renewed before its end",
      text: "RENEW_AT = { least: 0.2, most: 0.3 }",
      wrong: "RENEW_AT = { least: -0.3, most: -0.2 }",
    },
    {
      name: "a token is renewed all the time",
      text: "RENEW_AT = { least: 0.2, most: 0.3 }",
      wrong: "RENEW_AT = { least: 0.98, most: 0.99 }",
    },
    {
      name: "each request begins an exchange of its own",
      text:
        "    entry.running ??= renewNow(entry).finally(() => entry.running = undefined);\n    return entry.running;\n",
      wrong: "    return renewNow(entry);\n",
    },
    {
      name: "an exchange that ended seems to run",
      text: ".finally(() => entry.running = undefined);",
      wrong: ";",
    },
    {
      name: "a failed exchange is not repeated",
      text: "      renewIn(Math.min(retryMs, endMs), entry);\n",
      wrong: "",
    },
    {
      name: "a failed exchange is repeated at once",
      text: "      renewIn(Math.min(retryMs, endMs), entry);\n",
      wrong: "      renewIn(10, entry);\n",
    },
    {
      name: "a failed exchange ends a good token",
      text: "      state = lives ? before : { reason };\n",
      wrong: "      state = { reason };\n",
    },
    {
      name: "a token that has ended stays",
      text: "      state = lives ? before : { reason };\n",
      wrong: "      state = before ?? { reason };\n",
    },
    {
      name: "a failed exchange is not in the log",
      text: '      log.write("token_not_renewed", {\n',
      wrong: "      void ({\n",
    },
    {
      name: "a renewed token is not published",
      text: "isDeepStrictEqual(state, before)) {\n      options.onChange();",
      wrong: "isDeepStrictEqual(state, before)) {\n      void options;",
    },
    {
      name: "each refusal begins an exchange",
      text: "      if (nowMs - entry.refusedMs < leastMs) return;\n",
      wrong: "",
    },
    {
      name: "a refused token is not exchanged",
      text: "      entry.shortLives = 0;\n      renewed(entry);\n",
      wrong: "      entry.shortLives = 0;\n",
    },
    {
      name: "an exchange that is not used any more goes on",
      text: "        entry.cancel();\n        entries.delete(key);\n",
      wrong: "        entries.delete(key);\n",
      unseen: "its timer finds that the exchange is gone",
    },
    {
      name: "failures of long ago count",
      text: "      entry.failures = 0;\n",
      wrong: "",
      unseen: "it makes the pause longer, up to a minute",
    },
  ],
  "gateway/relay/routing/key_renewal.ts": [
    {
      name: "a refused key is never renewed",
      text: "    ask(id);\n",
      wrong: "",
    },
    {
      name: "a renewed key is not noticed",
      text: "    for (const look of [...waiting]) look();\n",
      wrong: "",
    },
    {
      name: "a key that was renewed meanwhile is not used",
      text: "    if (known !== undefined) return known;\n",
      wrong: "",
    },
    {
      name: "a renewal has no end",
      text: "deadlines.start(WAIT_MS, () => resolve(undefined));",
      wrong: "deadlines.start(Infinity, () => resolve(undefined));",
    },
    {
      name: "the same key counts as a renewed one",
      text: 'auth.key !== "" &&\n        auth.key !== key',
      wrong: 'auth.key !== ""',
    },
  ],
};
