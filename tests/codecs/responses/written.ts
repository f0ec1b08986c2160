import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import { runStage } from "../../../src/base/stage.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../../src/codecs/canonical/answer/fold.ts";
import type { AnswerBlock } from "../../../src/codecs/canonical/content/block.ts";
import type { Codec } from "../../../src/codecs/canonical/codec.ts";
import {
  type FailureKind,
  UpstreamFailure,
} from "../../../src/codecs/canonical/failure/failure.ts";
import type { AnswerEvent } from "../../../src/codecs/canonical/stream/event.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { responsesCodec } from "../../../src/codecs/responses/mod.ts";
import { ANSWERS } from "../../contract/answers.ts";
import {
  answerContext,
  type ContractCase,
  counterIds,
  decodeBytes,
} from "../../contract/codec_contract.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { closedSchema } from "../../support/wire/schemas.ts";
import { CHAT_CASES } from "../chat/cases.ts";
import { MESSAGES_CASES } from "../messages/cases.ts";

/** What a Responses caller gets for one answer. */
export interface WrittenAnswer {
  readonly name: string;
  /** The JSON answer; `undefined` for an ending that only a stream has. */
  readonly whole: JsonObject | undefined;
  readonly events: readonly JsonObject[];
}

const PARAMETERS = closedSchema("city");
const LARK = { type: "grammar", syntax: "lark", definition: "start: /.+/" };

const WEATHER = { type: "function", name: "weather", parameters: PARAMETERS };

/** Requests whose settings every answer repeats. */
const REQUESTS: Readonly<Record<string, JsonObject>> = {
  "plain": {},
  "with every setting": {
    instructions: "Be brief.",
    max_output_tokens: 100,
    temperature: 0,
    top_p: 0.5,
    parallel_tool_calls: false,
    metadata: { team: "a" },
    reasoning: { effort: "high", summary: "auto" },
    text: {
      format: { type: "json_schema", name: "city", schema: PARAMETERS },
      verbosity: "low",
    },
    service_tier: "flex",
    safety_identifier: "s".repeat(80),
    prompt_cache_key: "key",
    top_logprobs: 2,
    truncation: "auto",
    store: true,
    user: "u",
    stream_options: { include_obfuscation: false },
  },
  "that stops reasoning": {
    reasoning: { effort: "none" },
    text: { format: { type: "json_object" } },
    service_tier: "auto",
  },
  "with efforts of newer models": {
    reasoning: { effort: "max", summary: "none" },
    service_tier: "priority",
  },
  "with every kind of tool": {
    tools: [
      { ...WEATHER, description: "Looks outside", strict: true },
      { type: "function", name: "time" },
      { type: "function", name: "now", parameters: null, strict: null },
      { type: "custom", name: "run", format: LARK },
      { type: "namespace", name: "mcp", tools: [WEATHER] },
      { type: "web_search", search_context_size: "low" },
      { type: "local_shell" },
      { type: "apply_patch" },
      { type: "shell", environment: { type: "local" } },
      { type: "tool_search", execution: "client" },
    ],
    tool_choice: { type: "function", name: "weather" },
  },
  "with a choice of some tools": {
    tools: [WEATHER],
    tool_choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "weather" }],
    },
  },
  "of Codex": { client_metadata: { session: "a" } },
};

const COMPACTION = { type: "compaction_trigger" };

/** The failures that end a stream. */
const FAILURES: readonly { kind: FailureKind; code?: string }[] = [
  { kind: "server" },
  { kind: "broken" },
  { kind: "overloaded" },
  { kind: "rate_limited" },
  { kind: "filtered" },
  { kind: "invalid_request", code: "unknown_parameter" },
  { kind: "unauthenticated", code: "invalid_api_key" },
  { kind: "quota", code: "insufficient_quota" },
  { kind: "context_too_long" },
  { kind: "filtered", code: "cyber_policy" },
];

/** Returns answers of all providers and endings, as the Responses codec writes them. */
export function writtenAnswers(): WrittenAnswer[] {
  return [
    ...Object.entries(REQUESTS).flatMap(([name, fields]) =>
      ANSWERS.map((sample) =>
        written(`"${sample.name}" to a request ${name}`, {
          events: eventsOf(sample.answer),
          fields,
        })
      )
    ),
    ...readAnswers(),
    ...endings(),
  ];
}

interface Exchange {
  readonly events: readonly AnswerEvent[];
  /** The fields of the request beside its model and input. */
  readonly fields?: JsonObject;
}

/** Answers of the other protocols from other tests. Answers of Responses reach their callers natively. */
function readAnswers(): WrittenAnswer[] {
  const cases = { chat: CHAT_CASES, messages: MESSAGES_CASES };
  return (["chat", "messages"] as const).flatMap((protocol) => {
    const codec = CODECS[protocol];
    return [...cases[protocol], ...loadRecordings(protocol)]
      .flatMap(({ name, answer, stream }: ContractCase) => [
        ...(answer === undefined ? [] : [
          written(`${protocol} answer "${name}"`, {
            events: readWhole(codec, answer),
          }),
        ]),
        ...(stream === undefined ? [] : [
          written(`${protocol} stream "${name}"`, {
            events: decodeBytes(codec, stream),
          }),
        ]),
      ]);
  });
}

/** Returns the events of an answer, or a failure for an error. */
function readWhole(codec: Codec, answer: JsonValue): AnswerEvent[] {
  try {
    return eventsOf(codec.decodeAnswer(answer, counterIds()));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return [{ type: "failure", failure: error.failure }];
  }
}

function endings(): WrittenAnswer[] {
  const text: AnswerBlock = { kind: "text", text: "Hello" };
  const call: AnswerBlock = {
    kind: "custom_call",
    id: "call_a",
    name: "run",
    input: "ls",
  };
  const begun = eventsOf({ ...SAMPLE, blocks: [text] }).slice(0, -1);
  return [
    written("a compaction", {
      events: eventsOf({ ...SAMPLE, blocks: [text] }),
      fields: { input: [{ role: "user", content: "Hi" }, COMPACTION] },
    }),
    written("a call of a custom tool", {
      events: eventsOf({ ...SAMPLE, blocks: [call] }),
      fields: REQUESTS["with every kind of tool"] ?? {},
    }),
    ...(["max_tokens", "context_full", "other", "paused"] as const).map((
      reason,
    ) =>
      written(`the end ${reason} without usage`, {
        events: eventsOf({
          id: "",
          model: "",
          blocks: [text],
          stop: { reason },
        }),
      })
    ),
    ...FAILURES.flatMap(({ kind, code }) =>
      [begun, []].map((events) =>
        written(`a failure ${code ?? kind} after ${events.length} events`, {
          events: [...events, {
            type: "failure",
            failure: { kind, message: "It failed.", code },
          }],
        })
      )
    ),
  ];
}

const SAMPLE = {
  id: "a",
  model: "m",
  blocks: [],
  stop: { reason: "end" },
  usage: { inputTokens: 3, outputTokens: 2 },
} as const;

function eventsOf(answer: Parameters<typeof unfoldAnswer>[0]): AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}

function written(name: string, { events, fields }: Exchange): WrittenAnswer {
  const request = responsesCodec.decodeRequest({
    model: "m",
    input: "hi",
    ...fields,
  });
  const frames = runStage(
    responsesCodec.createStreamEncoder(answerContext(request)),
    events,
  );
  return {
    name,
    whole: wholeOf(events, () => answerContext(request)),
    events: frames.map(({ data }) => parseJson(data)).filter(isJsonObject),
  };
}

function wholeOf(
  events: readonly AnswerEvent[],
  context: () => ReturnType<typeof answerContext>,
): JsonObject | undefined {
  if (events.at(-1)?.type !== "end") return undefined;
  try {
    return responsesCodec.encodeAnswer(foldAnswer(events), context());
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}
