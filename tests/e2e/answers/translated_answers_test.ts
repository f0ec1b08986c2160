import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import {
  answerContext,
  counterIds,
  encodeStream,
  essence,
} from "../../contract/codec_contract.ts";
import { hello } from "../../support/wire/ask.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  type Pair,
  PAIRS,
  pairsFile,
  sampleAnswer,
  UPSTREAM_PATHS,
  upstreamAnswer,
} from "../../support/dialects/pairs.ts";
import { parseFrames } from "../../support/recorded/recordings.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { factsBySdk } from "../../support/sdk/sdk_answers.ts";

const SAMPLES = [
  "one text",
  "parallel calls",
  "text and a call",
  "reasoning and text",
  "reasoning and a call",
  "cut by the token limit",
];

/** Chat Completions streams have usage only on request. */
const STREAM: Readonly<Record<Protocol, JsonObject>> = {
  chat: { stream: true, stream_options: { include_usage: true } },
  messages: { stream: true },
  responses: { stream: true },
};

/** The sample's usage in the log line. */
const USAGE = { input_tokens: 100, cached_input_tokens: 40, output_tokens: 20 };

for (const pair of PAIRS) {
  const { from, to, model } = pair;
  Deno.test(`a ${from} caller gets the answers of a ${to} upstream, streamed and whole`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(pairsFile(upstream.url));
    for (const name of SAMPLES) {
      const answer = sampleAnswer(name);
      await t.step(`${name}, streamed`, async () => {
        upstream.play(() => upstreamAnswer(to, answer, true));
        const body = hello(from, { model, ...STREAM[from] });
        const { frames } = await callForStream(gateway, from, body);
        const request = CODECS[from].decodeRequest(JSON.parse(body));
        const direct = encodeStream(CODECS[from], answer, request);
        assert.deepEqual(
          await factsBySdk(from, frames),
          await factsBySdk(from, direct),
        );
        assert.equal(
          shownReasoning(frames.map(({ data }) => data)),
          reasoningOf(name),
        );
      });
      await t.step(`${name}, whole`, async () => {
        upstream.play(() => upstreamAnswer(to, answer, false));
        const response = await gateway.ask(from, hello(from, { model }));
        const body = await response.json();
        const received = CODECS[from].decodeAnswer(body, counterIds());
        assert.equal(body.model, model);
        assert.deepEqual(essence(received), essence(throughBoth(pair, name)));
        const line = await gateway.lines.of(response);
        assert.equal(line.mode, "translated");
        assert.equal(line.ended, "complete");
        assert.ok(isJsonObject(line.usage));
        const { input_tokens, cached_input_tokens, output_tokens } = line.usage;
        assert.deepEqual(
          { input_tokens, cached_input_tokens, output_tokens },
          USAGE,
        );
      });
    }
  });

  Deno.test(`a ${from} caller of a ${to} upstream gets JSON from a stream, and a stream from JSON`, async () => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(
      pairsFile(upstream.url, { stream_only: true }),
    );
    const answer = sampleAnswer("text and a call");
    upstream.play(() => upstreamAnswer(to, answer, true));
    const folded = await gateway.ask(from, hello(from, { model }));
    assert.equal(folded.headers.get("content-type"), "application/json");
    assert.deepEqual(
      essence(CODECS[from].decodeAnswer(await folded.json(), counterIds())),
      essence(throughBoth(pair, "text and a call")),
    );
    const seen = await upstream.requests.next();
    assert.equal(JSON.parse(seen.text()).stream, true);
    assert.equal(seen.path, UPSTREAM_PATHS[to]);
    assert.doesNotMatch(JSON.stringify([...seen.headers]), /mg_alice/);

    upstream.play(() => upstreamAnswer(to, answer, false));
    const body = hello(from, { model, ...STREAM[from] });
    const { frames } = await callForStream(gateway, from, body);
    const request = CODECS[from].decodeRequest(JSON.parse(body));
    assert.deepEqual(
      await factsBySdk(from, frames),
      await factsBySdk(from, encodeStream(CODECS[from], answer, request)),
    );
  });
}

async function callForStream(
  gateway: RunningGateway,
  from: Protocol,
  body: string,
) {
  const response = await gateway.ask(from, body);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const frames = parseFrames(await response.bytes());
  const line = await gateway.lines.of(response);
  assert.equal(line.ended, "complete");
  return { response, frames };
}

/** Returns the sample after the upstream's and the caller's codec, which have their own tests. */
function throughBoth({ from, to, model }: Pair, name: string) {
  let answer = sampleAnswer(name);
  for (const protocol of [to, from]) {
    const codec = CODECS[protocol];
    const request = codec.decodeRequest(JSON.parse(hello(protocol)));
    const context = { ...answerContext(request), model };
    answer = codec.decodeAnswer(
      codec.encodeAnswer(answer, context),
      counterIds(),
    );
  }
  return answer;
}

function reasoningOf(name: string): string {
  return sampleAnswer(name).blocks.flatMap((block) =>
    block.kind === "reasoning" ? block.parts.map(({ text }) => text) : []
  ).join("");
}

/** Returns the reasoning in a stream's deltas, in each protocol's field. */
function shownReasoning(data: readonly string[]): string {
  return data.map((text) => {
    const event = parseJson(text);
    if (!isJsonObject(event)) return "";
    if (
      typeof event.type === "string" && /reasoning.*\.delta$/.test(event.type)
    ) {
      return String(event.delta);
    }
    const [choice] = Array.isArray(event.choices) ? event.choices : [];
    const delta = isJsonObject(choice) ? choice.delta : event.delta;
    if (!isJsonObject(delta)) return "";
    return String(delta.thinking ?? delta.reasoning_content ?? "");
  }).join("");
}
