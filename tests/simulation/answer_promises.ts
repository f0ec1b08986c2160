import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import { foldChat } from "../support/sdk/chat_fold.ts";
import { foldMessages } from "../support/sdk/messages_fold.ts";
import { foldResponses } from "../support/sdk/responses_fold.ts";
import {
  attemptsOf,
  isServed,
  lineOf,
  objects,
  type Promised,
} from "./look_ups.ts";
import {
  type Charged,
  chargedFor,
  type ReadAnswer,
  readPlan,
} from "./world/answers.ts";
import type { Asked } from "./world/caller.ts";
import { PRICE } from "./world/file.ts";
import type { LedgerEntry } from "./world/provider.ts";

/** The promises of docs/design.md about answers. */
export const ANSWER_PROMISES: Readonly<Record<string, Promised>> = {
  "a native answer is a prefix of the provider's, and complete only with it":
    function* (world) {
      for (const one of world.asked.filter(isServed)) {
        const native = attemptsOf(one, world)
          .filter(({ protocol }) => protocol === one.protocol);
        const all = attemptsOf(one, world);
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
  "a complete answer is the provider's": function* (world) {
    for (const one of world.asked.filter(isServed)) {
      if (one.ending !== "complete" || hasError(one)) continue;
      const sources = attemptsOf(one, world).filter(({ isWhole }) => isWhole);
      let read: ReadAnswer;
      try {
        // A provider may omit the line feeds after its last event. The client gets the same bytes as without the
        // gateway. Some parsers skip that event, but if the gateway cut the answer, all would lose it.
        const isItsOwn = one.text.endsWith("}") &&
          sources.some(({ payload }) => payload === one.text);
        read = readAnswer(
          isItsOwn ? { ...one, text: `${one.text}\n\n` } : one,
        );
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
      const { usage, cost_usd: cost } = lineOf(one, world) ?? {};
      if (!isJsonObject(usage)) continue;
      if (usage.estimated === true) {
        const source = attemptsOf(one, world).at(-1);
        const isNamed = source?.isWhole && hasUsage(source);
        if (isNamed) yield `#${one.number} has an estimate of its usage`;
        continue;
      }
      const charges = attemptsOf(one, world).flatMap((entry) =>
        entry.answer === undefined
          ? []
          : chargedFor(entry.answer, entry.protocol)
      );
      const found = charges.find((charged) =>
        Object.entries(charged).every(([name, tokens]) =>
          Number(usage[name] ?? 0) === tokens
        )
      );
      if (found === undefined) {
        yield `#${one.number} has usage that no provider reported`;
      } else if (
        cost !== undefined && Math.abs(costOf(found) - Number(cost)) > 1e-8
      ) {
        yield `#${one.number} cost ${
          costOf(found)
        } dollars, and the log has ${cost}`;
      }
    }
  },
  "the log reports how a request ended": function* (world) {
    for (const one of world.asked.filter(isServed)) {
      const ended = lineOf(one, world)?.ended;
      // `response.failed` ends a native stream like any other last event (docs/design.md, "The last event").
      if (one.text.includes('"type":"response.failed"')) continue;
      // A break after the last event does not count either: the caller has the whole answer.
      if (LAST_EVENT_REGEXP.test(one.text)) continue;
      const isCut = one.ending === "broken" || hasError(one);
      if (one.ending === "lost") continue;
      if (isCut === (ended === "complete") && one.ending !== "left") {
        yield `#${one.number} ended ${one.ending}, and the log has ${ended}`;
      }
    }
  },
};

/** Returns the price of an answer, in dollars. */
function costOf(charged: Charged): number {
  const { input_tokens: all, cached_input_tokens: read } = charged;
  const { cache_write_tokens: written, output_tokens: output } = charged;
  return ((all - read - written) * PRICE.input + read * PRICE.cached_input +
    written * PRICE.cache_write + output * PRICE.output) / 1e6;
}

/** Returns true when a native answer may look complete: it is, or it ends with the provider's own error. */
function isEnded(source: LedgerEntry, one: Asked): boolean {
  return (source.isWhole && source.payload === one.text) || hasError(one);
}

function hasUsage({ payload }: LedgerEntry): boolean {
  return payload.split("\n").some((line) =>
    line.includes('"usage":{') &&
    parseJson(line.replace("data: ", "")) !== undefined
  );
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

/** Adds the final `[DONE]`, which some providers omit or cut. */
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
