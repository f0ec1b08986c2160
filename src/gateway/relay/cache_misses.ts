import { crc32 } from "node:zlib";
import type { Clock } from "@gateway/base/time/timers";
import type { AnswerFacts, CacheMissWord } from "../observe/facts.ts";
import type { EndedRequest } from "../observe/metrics.ts";
import type { Exchange } from "./exchange.ts";
import { namedConversation } from "./request/conversation.ts";
import {
  type FindPrompt,
  FIRST_MESSAGES,
  MAX_SUMS,
  type PromptParts,
} from "./request/prompt_parts.ts";

/** Finds why a turn read far less from a prompt cache than the cache held (docs/usage.md#dear-turns). */
export interface CacheMisses {
  /** Returns a function for a caller's next prompt. It finds the earlier prompt that the next prompt may continue. */
  findPrompt(caller: Exchange["caller"]): FindPrompt;
  /**
   * Judges a turn when the usage of its answer is known. Remembers the turn, so that the next turn can be judged.
   *
   * @param ended The end of the request, with the provider's usage.
   * @param sent The parts of the translation that the provider got.
   * @returns The miss; `undefined` when the turn missed nothing or the cause is unknown.
   */
  judge(
    exchange: Pick<Exchange, "caller" | "record">,
    prompt: PromptParts,
    ended: EndedRequest,
    sent?: PromptParts,
  ): AnswerFacts["cacheMiss"];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The time without use after which providers may drop a cached prefix. OpenAI drops a prefix after 5 to 10 minutes. */
const LIFETIME_MS = 5 * MINUTE_MS;

/** The time for which checksums are kept. */
const KEPT_MS = HOUR_MS;

/** The longest pause between two turns after which a miss is noticed. */
const PAUSE_KEPT_MS = DAY_MS;

/** The fewest missed tokens that count as a miss. No provider caches a prefix with fewer tokens. */
export const MIN_CACHED_TOKENS = 1024;

/** The most checksums that are kept, some 10 bytes each. */
const MAX_KEPT_SUMS = 1_000_000;

/** The most conversations in which a miss after a long pause is noticed. */
const MAX_PAUSES = 10_000;

/** The most prompts that are kept of one session: the prompts of the main agent and of helpers without a name. */
const MAX_LINES = 8;

const RETENTION = "prompt_cache_retention";

/** The checksum of the value of `prompt_cache_retention` that asks the provider to keep the prompt for a day. */
const DAY_RETENTION = crc32('"24h"');

/** The state of a prompt cache after a turn. */
interface CacheState {
  readonly connection: string | undefined;
  /** The id of the requested model. */
  readonly model: string | undefined;
  /** The provider's name of the model that served. */
  readonly upstreamModel: string | undefined;
  /** The tokens in the cache. */
  readonly tokens: number;
  /** The start of the answer, in milliseconds on a monotonic clock. */
  readonly atMs: number;
  readonly lifetimeMs: number;
}

/** A turn of a conversation, with the checksums of its prompt. */
interface Turn extends CacheState {
  readonly prompt: PromptParts;
  /** The checksums of the translation that the provider got; `undefined` when the provider got the body itself. */
  readonly sent: PromptParts | undefined;
  /** The key of the prompt's first messages; `undefined` when the prompt has too few messages to compare. */
  readonly opening: string | undefined;
}

/** The last turns with one key, the newest last. */
interface Session {
  readonly turns: readonly Turn[];
  readonly expiresAtMs: number;
}

/** Creates an empty memory of turns. Each thread has its own memory. */
export function createCacheMisses(
  clock: Pick<Clock, "elapsedMs">,
): CacheMisses {
  /** The sessions by key; the one that was used longest ago comes first. */
  const sessions = new Map<string, Session>();
  /** The last states of sessions whose checksums were dropped, by key. */
  const pauses = new Map<string, CacheState>();
  /** The last prompt of each conversation that has enough messages to compare, by the key of the first messages. */
  const openings = new Map<string, PromptParts>();
  let sums = 0;
  /** True for a connection and model that report cache writes; false if they report only cache reads. */
  const reportsWrites = new Map<string, boolean>();

  function dropOld(nowMs: number): void {
    for (const [key, { turns, expiresAtMs }] of sessions) {
      if (expiresAtMs > nowMs && sums <= MAX_KEPT_SUMS) break;
      forget(key);
      const last = turns.at(-1);
      if (last === undefined) continue;
      const { prompt: _, sent: __, opening: ___, ...state } = last;
      pauses.delete(key);
      pauses.set(key, state);
    }
    for (const [key, { atMs }] of pauses) {
      const isOld = nowMs - atMs > PAUSE_KEPT_MS;
      if (!isOld && pauses.size <= MAX_PAUSES) break;
      pauses.delete(key);
    }
  }

  function forget(key: string): void {
    for (const { prompt, sent, opening } of sessions.get(key)?.turns ?? []) {
      sums -= sumsIn(prompt, sent);
      if (opening === undefined || openings.get(opening) !== prompt) continue;
      openings.delete(opening);
    }
    sessions.delete(key);
  }

  function keep(key: string, turns: readonly Turn[], nowMs: number): void {
    forget(key);
    for (const { prompt, sent, opening } of turns) {
      sums += sumsIn(prompt, sent);
      if (opening !== undefined) openings.set(opening, prompt);
    }
    sessions.set(key, { turns, expiresAtMs: nowMs + KEPT_MS });
    pauses.delete(key);
  }

  /**
   * Returns the tokens that the cache holds after an answer. A provider that reports no writes is taken to cache all
   * input.
   */
  function tokensAfter(
    { connection, upstreamModel }: Pick<
      CacheState,
      "connection" | "upstreamModel"
    >,
    { inputTokens, cachedInputTokens: read = 0, cacheWriteTokens: written = 0 }:
      TokenCounts,
  ): number {
    const place = `${connection}\t${upstreamModel}`;
    if (written > 0) reportsWrites.set(place, true);
    else if (read > 0 && !reportsWrites.has(place)) {
      if (reportsWrites.size >= MAX_PAUSES) reportsWrites.clear();
      reportsWrites.set(place, false);
    }
    return reportsWrites.get(place) === false ? inputTokens : read + written;
  }

  return {
    findPrompt: (caller) => (first) => openings.get(openingOf(caller, first)),
    judge({ caller, record }, prompt, { facts, totalMs }, sent) {
      const { connection, model, upstreamModel, answer } = facts;
      const { usage } = answer;
      if (usage === undefined || prompt.isLinked) return undefined;
      const tokens = tokensAfter({ connection, upstreamModel }, usage);
      if (tokens < MIN_CACHED_TOKENS && sessions.size + pauses.size === 0) {
        return undefined;
      }
      const nowMs = clock.elapsedMs();
      dropOld(nowMs);
      const startMs = nowMs - totalMs;
      const key = keyOf({ caller, record }, prompt);
      const turns = sessions.get(key)?.turns ?? [];
      const last = likest(turns, prompt);
      const pause = turns.length === 0 ? pauses.get(key) : undefined;
      const before: CacheState | undefined = last ??
        (pause !== undefined && mayContinue(pause, facts) ? pause : undefined);
      // A turn that began before the earlier turn filled the cache could not read it.
      if (before !== undefined && before.atMs > startMs) return undefined;
      const now: Turn = {
        prompt,
        sent,
        opening: (prompt.opening?.messages ?? 0) > FIRST_MESSAGES
          ? openingOf(caller, prompt.messages)
          : undefined,
        connection,
        model,
        upstreamModel,
        tokens,
        atMs: startMs + (answer.firstByteMs ?? 0),
        lifetimeMs: lifetimeOf(usage, prompt, answer.dropped) ??
          before?.lifetimeMs ?? LIFETIME_MS,
      };
      const isKept = last !== undefined || tokens >= MIN_CACHED_TOKENS;
      if (isKept && sumsIn(prompt, sent) <= MAX_SUMS) {
        const others = turns.filter((turn) => turn !== last);
        keep(key, [...others.slice(1 - MAX_LINES), now], nowMs);
      }
      const { cachedInputTokens: read = 0, inputTokens } = usage;
      if (before === undefined || read >= before.tokens / 2) return undefined;
      const missed = Math.min(before.tokens, inputTokens) - read;
      if (missed < MIN_CACHED_TOKENS) return undefined;
      const droppedReasoning = answer.reasoningDropped;
      const cause = causeOf({ before, last, now, startMs, droppedReasoning });
      return cause && { ...cause, tokens: missed };
    },
  };
}

interface TokenCounts {
  readonly inputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly cacheWrite1hTokens?: number | undefined;
}

function sumsIn(
  { system, messages, settings }: PromptParts,
  sent?: PromptParts,
): number {
  const own = system.length + messages.length + settings.size;
  return sent === undefined ? own : own + sumsIn(sent);
}

/** Returns how long the provider keeps what a request wrote to the cache; `undefined` if the request wrote nothing. */
function lifetimeOf(
  { cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: TokenCounts,
  { settings }: PromptParts,
  dropped: readonly string[] = [],
): number | undefined {
  const asksForDay = settings.get(RETENTION) === DAY_RETENTION;
  if (asksForDay && !dropped.includes(RETENTION)) return DAY_MS;
  if (cacheWriteTokens === 0) return undefined;
  return cacheWrite1hTokens * 2 >= cacheWriteTokens ? HOUR_MS : LIFETIME_MS;
}

/**
 * Returns the key of the conversations that a turn may continue. The key is the turn's session and agent. If the client
 * names no session, the key is the first message of the user. If the first message is the system prompt, the second
 * message counts as the user's first.
 */
function keyOf(
  exchange: Pick<Exchange, "caller" | "record">,
  { messages, systemField }: PromptParts,
): string {
  const { caller, record: { facts } } = exchange;
  const named = namedConversation(exchange);
  if (named !== undefined) {
    return `${named} ${crc32(facts.client?.agent ?? "")}`;
  }
  const isFirst = facts.protocol === "messages" || systemField !== "";
  const anchor = isFirst ? messages[0] : messages[1] ?? messages[0];
  return `${caller.sha256} ${anchor}`;
}

function openingOf(
  caller: Exchange["caller"],
  messages: readonly number[],
): string {
  return `${caller.sha256} ${messages.slice(0, FIRST_MESSAGES)}`;
}

/**
 * Returns the turn that a prompt continues: the turn whose prompt has the longest beginning in common with `prompt`.
 * Returns `undefined` if no turn has a beginning in common with it.
 */
function likest(turns: readonly Turn[], prompt: PromptParts): Turn | undefined {
  let found: Turn | undefined;
  let most = 1;
  for (const turn of turns) {
    const likeness = likenessOf(turn.prompt, prompt);
    if (likeness < most) continue;
    found = turn;
    most = likeness;
  }
  return found;
}

/**
 * Returns 1 plus the number of equal messages at the beginning of two prompts. If the first messages differ, returns 1
 * for equal tools and system prompts, and 0 otherwise.
 */
function likenessOf(one: PromptParts, other: PromptParts): number {
  const common = firstDifference(one.messages, other.messages) ??
    one.messages.length;
  if (common > 0) return 1 + common;
  const hasSetup = one.tools !== 0 || one.system.length > 0;
  return hasSetup && one.tools === other.tools &&
      firstDifference(one.system, other.system) === undefined
    ? 1
    : 0;
}

/** Returns the first index at which `later` differs from `sums`; `undefined` when `later` begins with all of `sums`. */
function firstDifference(
  sums: readonly number[],
  later: readonly number[],
): number | undefined {
  const index = sums.findIndex((sum, index) => sum !== later[index]);
  return index === -1 ? undefined : index;
}

/** Returns true when a turn after a long pause may continue the same conversation. */
function mayContinue(
  pause: CacheState,
  { model, answer: { usage } }: Exchange["record"]["facts"],
): boolean {
  return pause.model === model &&
    (usage?.inputTokens ?? 0) * 2 >= pause.tokens;
}

/** The cause of a miss, and the part that changed. */
interface Cause {
  readonly why: CacheMissWord;
  readonly at?: string;
}

/** @returns `undefined` when the cause is unknown, because the earlier turn's checksums were dropped. */
function causeOf(
  { before, last, now, startMs, droppedReasoning = [] }: {
    readonly before: CacheState;
    /** The earlier turn; `undefined` when its checksums were dropped. */
    readonly last: Turn | undefined;
    readonly now: Turn;
    readonly startMs: number;
    readonly droppedReasoning: readonly string[] | undefined;
  },
): Cause | undefined {
  if (now.model !== before.model) return { why: "model" };
  const isElsewhere = now.connection !== before.connection ||
    now.upstreamModel !== before.upstreamModel;
  if (isElsewhere) return { why: "moved" };
  if (startMs - before.atMs >= before.lifetimeMs) return { why: "idle" };
  if (last === undefined) return undefined;
  const at = changeIn(last.prompt, now.prompt) ??
    (hasChangedIn(last.sent, now.sent) ? "translation" : undefined) ??
    (droppedReasoning.length > 0 ? "dropped_reasoning" : undefined);
  return at === undefined ? { why: "provider" } : { why: "edited", at };
}

function hasChangedIn(
  before: PromptParts | undefined,
  now: PromptParts | undefined,
): boolean {
  return before !== undefined && now !== undefined &&
    changeIn(before, now) !== undefined;
}

/** Returns the first part of a prompt that changed, in the order in which providers read them. */
function changeIn(before: PromptParts, now: PromptParts): string | undefined {
  if (before.tools !== now.tools) return "tools";
  const block = firstDifference(before.system, now.system);
  if (block !== undefined || before.system.length !== now.system.length) {
    const field = now.systemField || before.systemField;
    return before.system.length > 1
      ? `${field}[${block ?? before.system.length}]`
      : field;
  }
  const message = firstDifference(before.messages, now.messages);
  if (message !== undefined) return `${now.messagesField}[${message}]`;
  const names = [
    ...new Set([...before.settings.keys(), ...now.settings.keys()]),
  ];
  const setting = names.find((name) =>
    before.settings.get(name) !== now.settings.get(name)
  );
  if (setting !== undefined) return setting;
  return before.marks > 0 && now.marks === 0 ? "cache_control" : undefined;
}
