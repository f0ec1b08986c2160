import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type {
  Answer,
  Usage,
} from "../../src/codecs/canonical/answer/answer.ts";
import type { Block } from "../../src/codecs/canonical/content/block.ts";
import type { Codec } from "../../src/codecs/canonical/codec.ts";
import {
  brokenAnswer,
  type Failure,
  kindOfStatus,
  UpstreamFailure,
} from "../../src/codecs/canonical/failure/failure.ts";
import { openAiStatus } from "../../src/codecs/openai/errors.ts";
import { invalidField } from "../../src/codecs/canonical/request/invalid_request.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../src/codecs/canonical/request/request.ts";
import { brokenEvent } from "../../src/codecs/canonical/stream/event.ts";
import { readFrames } from "../../src/codecs/canonical/stream/read_frames.ts";
import { chatCodec } from "../../src/codecs/chat/mod.ts";
import { responsesCodec } from "../../src/codecs/responses/mod.ts";

/*
 * A request is `{"said":[{"by":"you","text":"Hi"}],"most":9}`, an answer
 * `{"text":"Hello","why":"done","cost":{"read":3,"wrote":1}}`, a stream `{"more":"Hel"}`, `{"more":"lo"}` and last
 * `{"why":"done","cost":…}`. An error is `{"fault":"No such model","id":"req_1"}`, also in a stream.
 */

const ROLES = { you: "user", me: "assistant", rule: "system" } as const;

const SPEAKERS: Readonly<Record<Turn["role"], string>> = {
  user: "you",
  assistant: "me",
  system: "rule",
  developer: "rule",
  tool: "you",
};

function readTurn(said: JsonValue): Turn {
  const { by, text } = isJsonObject(said) ? said : {};
  const isKnown = by === "you" || by === "me" || by === "rule";
  if (!isKnown || typeof text !== "string") {
    throw invalidField("said", "must say by whom, and what");
  }
  return { role: ROLES[by], blocks: [{ kind: "text", text }] };
}

function decodeRequest({ said, most }: JsonObject): CanonicalRequest {
  if (!Array.isArray(said)) throw invalidField("said", "must be a list");
  return {
    // Both stand in the path.
    model: "",
    stream: false,
    turns: said.map(readTurn),
    tools: [],
    maxOutputTokens: typeof most === "number" ? most : undefined,
    sampling: {},
    extras: {},
  };
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map((block) => block.kind === "text" ? block.text : "").join();
}

function readCost(cost: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(cost)) return undefined;
  return { inputTokens: Number(cost.read), outputTokens: Number(cost.wrote) };
}

function endOf(usage: Usage | undefined): JsonObject {
  const cost = usage && { read: usage.inputTokens, wrote: usage.outputTokens };
  return { why: "done", cost };
}

function decodeAnswer(body: JsonValue): Answer {
  if (!isJsonObject(body) || typeof body.text !== "string") {
    throw new UpstreamFailure(brokenAnswer("The provider sent no text"));
  }
  return {
    id: "",
    model: "",
    blocks: [{ kind: "text", text: body.text }],
    stop: { reason: "end" },
    usage: readCost(body.cost),
  };
}

function decodeFailure(status: number, body: JsonValue | undefined): Failure {
  const fault = isJsonObject(body) ? body.fault : undefined;
  const message = typeof fault === "string" ? fault : `Status ${status}`;
  return { kind: kindOfStatus(status), status, message };
}

/**
 * A codec of a protocol that the gateway does not have, with just enough for the tests.
 *
 * @param protocol The protocol's name, which only the patched tables have.
 */
export function createToyCodec(protocol: Protocol): Codec {
  return {
    protocol,
    ability: (target) => responsesCodec.ability(target),
    fieldNames: { ...chatCodec.fieldNames, messages: "said" },
    toolSupport: () => ({
      custom: false,
      namespaces: false,
      maxNameLength: 64,
    }),
    decodeRequest,
    encodeRequest(request, { reportDropped }) {
      for (const [owner, extras] of Object.entries(request.extras)) {
        for (const [extra, { weight }] of Object.entries(extras)) {
          if (owner === protocol || weight === "ignore") continue;
          reportDropped({ extra }, "a toy has no such field", weight);
        }
      }
      if (request.tools.length > 0) {
        reportDropped("tools", "a toy has no tools");
      }
      const said = request.turns.map(({ role, blocks }) => ({
        by: SPEAKERS[role],
        text: textOf(blocks),
      }));
      return { said, most: request.maxOutputTokens };
    },
    decodeAnswer,
    encodeAnswer: ({ blocks, usage }) => ({
      text: textOf(blocks),
      ...endOf(usage),
    }),
    createStreamDecoder() {
      let hasBegun = false;
      return readFrames({
        push({ more, why, cost, fault }, _name, emit) {
          if (fault !== undefined) {
            const failure = decodeFailure(500, { fault });
            return emit({ type: "failure", failure });
          }
          if (!hasBegun) {
            emit({ type: "start", id: "", model: "" });
            emit({ type: "block-start", index: 0, block: { kind: "text" } });
          }
          hasBegun = true;
          if (typeof more === "string") {
            emit({ type: "block-delta", index: 0, text: more });
          }
          if (why === undefined) return;
          emit({ type: "block-end", index: 0 });
          const stop = { reason: "end" } as const;
          emit({ type: "end", stop, usage: readCost(cost) });
        },
        done() {},
        end: (emit) => emit(brokenEvent("The provider's stream was cut")),
      });
    },
    createStreamEncoder({ requestId: id }) {
      const frameOf = (event: JsonObject) => ({ data: JSON.stringify(event) });
      return {
        push(event, emit) {
          if (event.type === "block-delta") emit(frameOf({ more: event.text }));
          if (event.type === "end") emit(frameOf(endOf(event.usage)));
          if (event.type !== "failure") return;
          emit(frameOf({ fault: event.failure.message, id }));
        },
        end() {},
        keepAlive: (emit) => emit({ comment: "" }),
      };
    },
    decodeFailure,
    encodeFailure: (failure, id) => ({
      status: openAiStatus(failure),
      body: { fault: failure.message, id },
    }),
    encodeError: ({ message }, id) => ({ fault: message, id }),
    requestIdHeader: "x-toy-id",
    requestHeaders: () => [["x-toy-version", "1"]],
    headerPrefixes: () => ["x-toy-"],
    watch: {
      usageMark: '"cost"',
      mayCount: (text) => text.includes('"cost"'),
      mayBeFailure: (start) => start.includes('"fault"'),
      isOutput: ({ more }) => more !== undefined,
      writtenKeys: new Set(["more"]),
      failureOf: (body) => body.fault === undefined ? undefined : body,
      modelOf: () => undefined,
      usageOf: ({ cost }) => readCost(cost),
      isEnd: (data) => data.includes('"why"'),
      isFailure: (data) => data.includes('"fault"'),
    },
  };
}
