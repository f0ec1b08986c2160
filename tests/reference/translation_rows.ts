import { isDeepStrictEqual } from "node:util";
import type { Protocol } from "../../src/base/protocol.ts";
import { GatewayError } from "../../src/base/error.ts";
import { type JsonObject, parseJson } from "../../src/base/json.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import { hello } from "../support/wire/ask.ts";
import { type Pair, PAIRS, sampleAnswer } from "../support/dialects/pairs.ts";
import { type Feature, FEATURES } from "../support/dialects/features.ts";
import { translateRequest } from "../support/translate_request.ts";

const NAMES: Readonly<Record<Protocol, string>> = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
};

/** The provider of each protocol for the table. */
const TARGETS: Readonly<
  Record<Protocol, { readonly service: string; readonly model: string }>
> = {
  chat: { service: "custom", model: "some-model" },
  messages: { service: "anthropic", model: "claude-sonnet-4-6" },
  responses: { service: "openai", model: "gpt-5.2" },
};

/** The word for a feature that is dropped without a name in `x-gateway-dropped`. */
export const LEFT_OUT = "left out";

/** Returns the cells of the table: headings, and the outcome of each feature in each pair of protocols. */
export function translationRows(): string[][] {
  const heading = PAIRS.map(({ from, to }) => `${NAMES[from]} → ${NAMES[to]}`);
  return [
    ["feature", ...heading],
    ...FEATURES.map((feature) => [
      feature.name,
      ...PAIRS.map((pair) => outcome(feature, pair)),
    ]),
    ...ANSWER_ROWS.map(({ name, sample, of }) => [
      name,
      ...PAIRS.map((pair) => {
        const answer = sampleAnswer(sample);
        const isKept = isDeepStrictEqual(
          of(throughPair(answer, pair)),
          of(answer),
        );
        return isKept ? "kept" : LEFT_OUT;
      }),
    ]),
  ];
}

/** The features of answers. */
export const ANSWER_ROWS: readonly {
  readonly name: string;
  readonly sample: string;
  /** Returns the part of an answer that must be equal after both protocols. */
  readonly of: (answer: Answer) => unknown;
}[] = [
  {
    name: "answer's reasoning",
    sample: "reasoning and a call",
    of: ({ blocks }) =>
      blocks.flatMap((block) =>
        block.kind === "reasoning" ? block.parts.map(({ text }) => text) : []
      ),
  },
  {
    name: "answer's parallel calls",
    sample: "parallel calls",
    of: ({ blocks, stop }) => [
      stop.reason,
      ...blocks.map((block) =>
        block.kind === "function_call"
          ? [block.id, block.name, parseJson(block.arguments)]
          : block.kind
      ),
    ],
  },
  {
    name: "answer's tokens, cached ones too",
    sample: "one text",
    of: ({ usage }) => [
      usage?.inputTokens,
      usage?.cachedInputTokens,
      usage?.outputTokens,
    ],
  },
];

/** Returns the answer as the caller reads it, encoded and decoded in both protocols. */
function throughPair(answer: Answer, { from, to }: Pair): Answer {
  return [to, from].reduce((received, protocol) => {
    const codec = CODECS[protocol];
    const request = codec.decodeRequest(JSON.parse(hello(protocol)));
    const body = codec.encodeAnswer(received, answerContext(request));
    return codec.decodeAnswer(body, counterIds());
  }, answer);
}

/** Returns the outcome of a feature in a pair of protocols, in the words of the table. */
export function outcome({ asked, found }: Feature, { from, to }: Pair): string {
  const fields = asked[from];
  if (fields === undefined) return "–";
  try {
    const { body, dropped } = translate(JSON.parse(hello(from, fields)), {
      from,
      to,
    });
    if (dropped.size > 0) {
      return `dropped: ${[...dropped].map((name) => `\`${name}\``).join(", ")}`;
    }
    return found(CODECS[to].decodeRequest(body)) ?? LEFT_OUT;
  } catch (error) {
    if (error instanceof GatewayError) return "400";
    throw error;
  }
}

function translate(
  body: JsonObject,
  { from, to }: { readonly from: Protocol; readonly to: Protocol },
) {
  return translateRequest(body, {
    from: CODECS[from],
    to: CODECS[to],
    target: {
      ...TARGETS[to],
      connectionId: "connection-1",
      maxOutputTokens: undefined,
    },
  });
}
