import assert from "node:assert/strict";
import { calendarSpan } from "../../src/core/time/calendar.ts";
import { isJsonObject, type JsonObject } from "../../src/core/json.ts";
import { foldChat } from "../support/sdk/chat_fold.ts";
import { foldMessages } from "../support/sdk/messages_fold.ts";
import { foldResponses } from "../support/sdk/responses_fold.ts";
import { ATTEMPT_PROMISES } from "./attempt_promises.ts";
import type { History, World } from "./history.ts";
import { keyOf } from "./history.ts";
import { type ReadAnswer, readPlan } from "./world/answers.ts";
import type { Asked } from "./world/caller.ts";
import type { LedgerEntry } from "./world/provider.ts";

/** A promise of docs/design.md. Yields a line for each time that it was broken, with the request's `#number`. */
type Promised = (world: World) => Iterable<string>;

const PROMISES: Readonly<Record<string, Promised>> = {
  "every request ends": function* ({ asked }) {
    for (const { number, ending } of asked) {
      if (ending === undefined) yield `#${number} has no end`;
    }
  },
  "every request ends within its deadlines": function* ({ asked, config }) {
    for (const one of asked) {
      if (one.endedMs === undefined || one.outputMs !== undefined) continue;
      const tookMs = one.endedMs - one.startedMs;
      const mostMs = longestWaitMs(config);
      if (tookMs > mostMs) {
        yield `#${one.number} waited ${tookMs} ms of ${mostMs}`;
      }
    }
  },
  "a caller gets 200, or an error with a message": function* ({ asked }) {
    for (const { number, status, text, ending } of asked) {
      if (ending === "left" || ending === "lost" || status === 200) continue;
      if (status === undefined) yield `#${number} has no status`;
      else if (!/"message":"[^"]/.test(text)) yield `#${number} has ${text}`;
    }
  },
  "nothing is sent again after output": function* ({ asked, ledger }) {
    for (const entry of ledger) {
      const output = asked[entry.request]?.outputMs;
      if (output !== undefined && entry.receivedMs > output) {
        yield `#${entry.request} was sent to ${entry.provider} after output`;
      }
    }
  },
  "no request has more than three attempts": function* ({ asked, ledger }) {
    for (const one of asked) {
      const sent = attemptsOf(one, ledger).length;
      if (sent > 3) yield `#${one.number} was sent ${sent} times`;
    }
  },
  "the log counts every attempt": function* (world) {
    for (const one of world.asked) {
      const attempts = lineOf(one, world)?.attempts;
      const logged = Array.isArray(attempts) ? attempts.length : 1;
      const sent = attemptsOf(one, world.ledger).length;
      if (sent > logged && one.ending !== "left" && one.ending !== "lost") {
        yield `#${one.number} was sent ${sent} times, and the log has ${logged}`;
      }
    }
  },
  "a request reaches only models of its token, with their key": function* (
    { asked, ledger },
  ) {
    for (const { request, provider, key, body } of ledger) {
      const one = asked[request];
      const model = String(body.model).replace(`-of-${provider}`, "");
      const models = one?.agent.models ?? [];
      if (!models.includes(model) && !models.includes("*")) {
        yield `#${request} reached ${body.model}`;
      }
      if (key !== keyOf({ name: provider })) {
        yield `#${request} reached ${provider} with another key`;
      }
    }
  },
  "a native answer is a prefix of the provider's, and complete only with it":
    function* ({ asked, ledger }) {
      for (const one of asked.filter(isServed)) {
        const native = attemptsOf(one, ledger)
          .filter(({ protocol }) => protocol === one.protocol);
        const all = attemptsOf(one, ledger);
        if (native.length < all.length || native.length === 0) continue;
        const source = native.findLast(({ payload }) =>
          payload.startsWith(one.text)
        );
        if (source === undefined) yield `#${one.number} has other bytes`;
        else if (one.ending === "complete" && !isEnded(source, one)) {
          yield `#${one.number} looks complete, and was cut`;
        }
      }
    },
  "a complete answer is the provider's": function* ({ asked, ledger }) {
    for (const one of asked.filter(isServed)) {
      if (one.ending !== "complete" || hasError(one)) continue;
      const sources = attemptsOf(one, ledger).filter(({ isWhole }) => isWhole);
      let read: ReadAnswer;
      try {
        read = readAnswer(one);
      } catch (cause) {
        yield `#${one.number} breaks the grammar of ${one.protocol}: ${
          String(cause).slice(0, 300)
        }`;
        continue;
      }
      const found = sources.some(({ answer }) =>
        answer !== undefined &&
        JSON.stringify(readPlan(answer)) === JSON.stringify(read)
      );
      if (!found) {
        yield `#${one.number} has another answer than its provider gave`;
      }
    }
  },
  "usage in the log is the provider's": function* (world) {
    for (const one of world.asked.filter(isServed)) {
      if (one.ending !== "complete" || hasError(one)) continue;
      const usage = lineOf(one, world)?.usage;
      if (!isJsonObject(usage) || usage.estimated === true) continue;
      const found = attemptsOf(one, world.ledger).some(({ answer }) =>
        answer?.inputTokens === usage.input_tokens &&
        answer?.outputTokens === usage.output_tokens
      );
      if (!found) yield `#${one.number} has usage that no provider reported`;
    }
  },
  "a connection that never opens is given up in time": function* (
    { providers, config },
  ) {
    for (const { name, hung } of providers) {
      for (const { startedMs, endedMs } of hung) {
        const tookMs = endedMs - startedMs;
        if (tookMs > config.timeouts.connectMs) {
          yield `${name} was waited for ${tookMs} ms`;
        }
      }
    }
  },
  "the log reports how a request ended": function* (world) {
    for (const one of world.asked.filter(isServed)) {
      const ended = lineOf(one, world)?.ended;
      // docs/design.md, "The last event": of a native stream, `response.failed` is an end like any other.
      if (one.text.includes('"type":"response.failed"')) continue;
      // Nor does anything after the last event count.
      if (LAST_EVENT_REGEXP.test(one.text)) continue;
      const isCut = one.ending === "broken" || hasError(one);
      if (one.ending === "lost") continue;
      if (isCut === (ended === "complete") && one.ending !== "left") {
        yield `#${one.number} ended ${one.ending}, and the log has ${ended}`;
      }
    }
  },
  "a move's reason is true": function* (world) {
    const { config, log } = world;
    for (const { fields } of log.entries) {
      const { moved_from, moved_for, attempts, token } = fields;
      if (moved_for === undefined) continue;
      const from = config.connections.find(({ name }) => name === moved_from);
      const caller = [...config.callers.values()]
        .find(({ name }) => name === token);
      const mayBeFull = from?.maxConcurrent !== undefined ||
        (caller?.limits.length ?? 0) > 0;
      const failed = objects(attempts).some(({ connection, failure }) =>
        connection === moved_from && failure === moved_for
      );
      const isTrue = failed || moved_for === "cooling_down" ||
        moved_for === "full" && mayBeFull;
      if (!isTrue) yield `${fields.request_id} moved for ${moved_for}`;
    }
  },
  "a conversation moves only for a reason, which its line names": function* (
    world,
  ) {
    const sessions = Map.groupBy(
      world.asked.filter(isServed),
      ({ session, model }) => `${session} ${model}`,
    );
    for (const turns of sessions.values()) {
      const all = world.asked.filter(({ session }) =>
        session === turns[0]?.session
      );
      for (const [at, one] of turns.entries()) {
        const before = turns[at - 1];
        if (before === undefined) continue;
        const isAfter = (before.endedMs ?? Infinity) < one.startedMs;
        const isAlone = all.every((other) =>
          other === one || other === before && isAfter ||
          (other.endedMs ?? Infinity) < before.startedMs ||
          other.startedMs > (one.endedMs ?? Infinity) || !wasSent(other, world)
        );
        const [from, to] = [lineOf(before, world), lineOf(one, world)];
        if (before.replica !== one.replica || one.ending === "lost") continue;
        const isOwn = from?.served_model === undefined &&
          to?.served_model === undefined;
        if (!isAlone || !isOwn || from?.connection === to?.connection) continue;
        if (
          to?.moved_from !== from?.connection || to?.moved_for === undefined
        ) {
          yield `#${one.number} moved from ${from?.connection} to ${to?.connection} after #${before.number}`;
        }
      }
    }
  },
  "a healthy connection serves": function* ({ checked }) {
    for (const { number, model, status } of checked) {
      if (status !== 200) yield `#${number} for ${model} got ${status}`;
    }
  },
  "every request has one line in the log": function* (world) {
    const { asked, log } = world;
    const ids = new Map<unknown, number>();
    for (const { event, fields } of log.entries) {
      if (event !== "request" || String(fields.route).includes("usage")) {
        continue;
      }
      ids.set(fields.request_id, (ids.get(fields.request_id) ?? 0) + 1);
    }
    for (const [id, count] of ids) {
      if (count > 1) yield `${id} has ${count} lines`;
    }
    for (const one of asked) {
      const id = one.headers?.get("x-request-id");
      if (id === undefined || ids.has(id) || mayLackLine(one, world)) continue;
      yield `#${one.number} has no line`;
    }
    const lines = [...ids.values()].reduce((sum, count) => sum + count, 0);
    const least = asked.filter((one) => !mayLackLine(one, world)).length;
    if (lines > asked.length || lines < least) {
      yield `${asked.length} requests have ${lines} lines`;
    }
  },
  "nothing unforeseen happens": function* ({ log, unhandled }) {
    for (const { event, fields } of log.entries) {
      if (event === "unforeseen") yield `${fields.exception} ${fields.stack}`;
    }
    for (const cause of unhandled) yield `unhandled: ${String(cause)}`;
  },
  "no limit on requests is exceeded": function* (world) {
    const { asked, ledger, config, replicas, store, time } = world;
    const starts = sumOf(replicas, ({ starts }) => starts);
    const crashes = sumOf(replicas, ({ crashes }) => crashes);
    for (const caller of config.callers.values()) {
      for (const limit of caller.limits) {
        if (limit.kind !== "amount" || limit.unit !== "requests") continue;
        const sent = asked.filter((one) =>
          one.agent.name === caller.name && attemptsOf(one, ledger).length > 0
        );
        // A request whose process ended is not counted.
        const lost = sent.filter((one) => mayLackLine(one, world)).length;
        // While the store is away, each replica counts for itself; what it loses is lost.
        const isCounted = store === undefined ||
          !store.hasFailed && starts === replicas.length;
        // A crash may cut a line of the log.
        const most = isCounted
          ? limit.most + lost + crashes
          : limit.most * (starts + store.losses) + lost;
        const windowOf = (atMs = 0) =>
          calendarSpan(limit.window, time.startMs + atMs).startMs;
        const within = sent.filter((one) =>
          windowOf(one.startedMs) ===
            windowOf(attemptsOf(one, ledger)[0]?.receivedMs)
        );
        const windows = Map.groupBy(
          within,
          ({ startedMs }) => windowOf(startedMs),
        );
        for (const [startMs, { length }] of windows) {
          if (length <= most) continue;
          yield `${caller.name} has ${length} of ${limit.most} in the ${limit.window} of ${
            startMs - time.startMs
          }`;
        }
      }
    }
  },
  "no connection has more requests at once than it takes": function* (
    { config, ledger, replicas },
  ) {
    for (const { name, maxConcurrent = Infinity } of config.connections) {
      const own = ledger.filter(({ provider }) => provider === name);
      const most = mostAtOnce(own);
      // Each process counts its own.
      if (most > maxConcurrent * replicas.length) {
        yield `${name} had ${most} of ${maxConcurrent} at once`;
      }
    }
  },
  "after quiet nothing is held": function* ({ replicas, providers, time }) {
    for (const { name, life } of replicas) {
      const { inFlight = 0, bodyMemoryBytes = 0 } = life?.gateway.state() ?? {};
      if (inFlight > 0) yield `${name} has ${inFlight} requests in flight`;
      if (bodyMemoryBytes > 0) yield `${name} holds ${bodyMemoryBytes} bytes`;
    }
    for (const { name, sockets } of providers) {
      const open = [...sockets].filter(({ isClosed }) => !isClosed).length;
      if (open > 0) yield `${open} sockets to ${name}`;
    }
    if (time.running > 0) yield `${time.running} timers`;
  },
  "no secret and no content is logged": function* ({ log, agents, providers }) {
    const secrets = [
      ...agents.map(({ token }) => token),
      ...providers.map(keyOf),
      "Prompt #",
      "Köln",
    ];
    for (const { event, fields } of log.entries) {
      const text = JSON.stringify(fields);
      for (const secret of secrets) {
        if (text.includes(secret)) yield `${event} has ${secret}`;
      }
      if (/w\d+_\d+ /.test(text)) yield `${event} has a part of an answer`;
    }
  },
};

/** Returns a line for each promise that a history broke. */
export function brokenPromises(world: World): History["broken"] {
  const all = { ...PROMISES, ...ATTEMPT_PROMISES };
  return Object.entries(all).flatMap(([name, check]) =>
    [...check(world)].map((line) => `${name}: ${line}`)
  );
}

/** The longest wait for the first output: three attempts, their pauses, and a slow body. */
function longestWaitMs(
  { timeouts }: { readonly timeouts: World["config"]["timeouts"] },
): number {
  const { connectMs, firstByteMs, idleMs } = timeouts;
  return 3 * (connectMs + firstByteMs + idleMs) + 60_000;
}

/** Returns true when the process of a request ended before it could log it. */
function mayLackLine({ ending, replica }: Asked, { replicas }: World): boolean {
  if (replica === undefined) return true;
  if (ending === "complete" || ending === "broken") return false;
  const hasEnded = replicas.some(({ name, starts }) =>
    replica.startsWith(`${name}.`) && replica !== `${name}.${starts}`
  );
  return hasEnded || ending === "lost";
}

function isServed(one: Asked): boolean {
  return one.status === 200;
}

function wasSent(one: Asked, { ledger }: World): boolean {
  return attemptsOf(one, ledger).length > 0;
}

function attemptsOf(
  { number }: Asked,
  ledger: readonly LedgerEntry[],
): LedgerEntry[] {
  return ledger.filter(({ request }) => request === number);
}

function lineOf(
  { headers }: Asked,
  { log }: World,
): Readonly<Record<string, unknown>> | undefined {
  const id = headers?.get("x-request-id");
  return log.entries.find(({ event, fields }) =>
    event === "request" && fields.request_id === id
  )?.fields;
}

/** Returns true when a native answer may look complete: it is whole, or it holds the provider's own error. */
function isEnded(source: LedgerEntry, one: Asked): boolean {
  return (source.isWhole && source.payload === one.text) || hasError(one);
}

const ERRORS = {
  chat: /^data: \{"error"|^event: error$/m,
  messages: /^event: error$/m,
  responses: /^event: (?:error|response\.failed)$/m,
};

function hasError({ isStream, text, protocol }: Asked): boolean {
  return isStream && ERRORS[protocol].test(text);
}

const LAST_EVENT_REGEXP =
  /"finish_reason":"|"type":"(?:message_stop|response\.completed)"/;

/** Adds the end that some providers leave out, in whole or in part. */
function withDone(text: string): string {
  const frames = text.slice(0, text.lastIndexOf("\n\n") + 2);
  return frames.endsWith(DONE) ? frames : frames + DONE;
}

const DONE = "data: [DONE]\n\n";

const FOLDS = {
  chat: foldChat,
  messages: foldMessages,
  responses: foldResponses,
};

function readAnswer({ isStream, text, protocol }: Asked): ReadAnswer {
  const answer: unknown = isStream
    ? FOLDS[protocol](protocol === "chat" ? withDone(text) : text)
    : JSON.parse(text);
  assert(isJsonObject(answer));
  return READERS[protocol](answer);
}

const READERS: Readonly<
  Record<Asked["protocol"], (answer: JsonObject) => ReadAnswer>
> = {
  chat(answer) {
    const [choice] = objects(answer.choices);
    const message = isJsonObject(choice?.message) ? choice.message : {};
    return {
      text: String(message.content ?? ""),
      calls: objects(message.tool_calls).map(({ function: called }) =>
        canonical(isJsonObject(called) ? called.arguments : "")
      ),
    };
  },
  messages: ({ content }) => ({
    text: objects(content).filter(({ type }) => type === "text")
      .map(({ text }) => text).join(""),
    calls: objects(content).filter(({ type }) => type === "tool_use")
      .map(({ input }) => JSON.stringify(input)),
  }),
  responses: ({ output }) => ({
    text: objects(output).filter(({ type }) => type === "message")
      .flatMap(({ content }) => objects(content)).map(({ text }) => text)
      .join(""),
    calls: objects(output).filter(({ type }) => type === "function_call")
      .map((call) => canonical(call.arguments)),
  }),
};

function canonical(text: unknown): string {
  return JSON.stringify(JSON.parse(String(text)));
}

function sumOf<One>(
  list: readonly One[],
  amountOf: (one: One) => number,
): number {
  return list.reduce((sum, one) => sum + amountOf(one), 0);
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the greatest number of entries that were under way at the same moment. */
function mostAtOnce(entries: readonly LedgerEntry[]): number {
  const changes = entries.flatMap(({ receivedMs, endedMs = Infinity }) => [
    { atMs: receivedMs, by: 1 },
    { atMs: endedMs, by: -1 },
  ]).sort((one, other) => one.atMs - other.atMs || one.by - other.by);
  let count = 0;
  let most = 0;
  for (const { by } of changes) most = Math.max(most, count += by);
  return most;
}
