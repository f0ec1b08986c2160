import assert from "node:assert/strict";
import { randomIds } from "../../../../src/base/ids.ts";
import type { SseFrame } from "../../../../src/base/frame.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { runStage } from "../../../../src/base/stage.ts";
import type { Usage } from "../../../../src/codecs/canonical/answer/answer.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import {
  createAnswerMeter,
  createBodyMeter,
  createStreamMeter,
} from "../../../../src/gateway/relay/native/meter.ts";
import type { AnswerEnd } from "../../../../src/gateway/relay/answer_body.ts";
import { openTestRecord } from "../../../support/gateway/open_record.ts";
import {
  hasRecordings,
  loadRecordings,
  parseFrames,
} from "../../../support/recorded/recordings.ts";
import { cutAwkwardly } from "../../../support/wire/cuts.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";
import { testNeeding } from "../../../support/ignored.ts";
import { steps } from "../../../support/steps.ts";

const encoder = new TextEncoder();

function streamScene(protocol: Protocol = "chat") {
  const { record, clock } = openTestRecord();
  const meter = createStreamMeter(CODECS[protocol].watch, record);
  return { meter, clock, facts: record.facts };
}

function bodyScene(protocol: Protocol = "chat") {
  const { record, clock } = openTestRecord();
  const meter = createBodyMeter(CODECS[protocol].watch, record);
  return { meter, clock, facts: record.facts };
}

const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });

Deno.test("createStreamMeter() records the time of the first output and counts every byte", () => {
  const { meter, clock, facts } = streamScene();
  const role = sseBytes(chunk({ role: "assistant", content: "" }));
  const text = sseBytes(chunk({ content: "a" }));
  clock.advance(5);
  meter.push(role);
  assert.equal(facts.answer.firstOutputMs, undefined);
  clock.advance(5);
  meter.push(text);
  assert.equal(facts.answer.firstOutputMs, 10);
  clock.advance(5);
  meter.push(text);
  assert.equal(facts.answer.firstOutputMs, 10);
  assert.equal(facts.bytesOut, role.length + 2 * text.length);
});

Deno.test("createStreamMeter() measures the same text of a cut stream, whatever the chunk size", () => {
  const words = ["Once", " upon a time", ",", " there was a gateway", "."];
  const events = Array.from(
    { length: 40 },
    (_, index) => chunk({ content: words[index % words.length] ?? "" }),
  );
  const bytes = sseBytes(...events).slice(0, -40);
  const lengthIn = (chunks: readonly Uint8Array[]) => {
    const { meter, facts } = streamScene();
    for (const one of chunks) meter.push(one);
    meter.end(false);
    return facts.answer.outputCharacters;
  };
  const expected = lengthIn([bytes]);
  const sizes = Array.from({ length: 120 }, (_, index) => index + 1);
  for (const size of [...sizes, 1000]) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      chunks.push(bytes.subarray(at, at + size));
    }
    assert.equal(lengthIn(chunks), expected, `in chunks of ${size} bytes`);
  }
});

Deno.test("createStreamMeter() combines the counts of several events", () => {
  const { meter, facts } = streamScene("messages");
  meter.push(sseBytes(
    {
      type: "message_start",
      message: { usage: { input_tokens: 10, output_tokens: 1 } },
    },
    { type: "content_block_delta", delta: { type: "text_delta", text: "a" } },
    { type: "message_delta", usage: { output_tokens: 30 } },
  ));
  assert.equal(facts.answer.usage?.inputTokens, 10);
  assert.equal(facts.answer.usage?.outputTokens, 30);
});

Deno.test("createStreamMeter() reads usage before, with and after the first output", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 };
  const streams = [
    sseBytes({ usage, choices: [] }, chunk({ content: "a" })),
    sseBytes({ ...chunk({ content: "a" }), usage }),
    sseBytes(chunk({ content: "a" }), { usage, choices: [] }),
  ];
  for (const stream of streams) {
    const { meter, facts } = streamScene();
    meter.push(stream);
    assert.equal(facts.answer.usage?.inputTokens, 1);
    assert.equal(facts.answer.firstOutputMs, 0);
  }
});

Deno.test("createStreamMeter() never reads the answer's text as usage", () => {
  const { meter, facts } = streamScene();
  const content = '{"usage":{"prompt_tokens":9,"completion_tokens":9}}';
  meter.push(sseBytes(chunk({ content: "a" }), chunk({ content })));
  meter.push(sseBytes({ ...chunk({ content: "b" }), usage: null }));
  assert.equal(facts.answer.usage, undefined);
});

Deno.test("createStreamMeter() classifies streams as whole, failed or cut", async (t) => {
  const stop = { type: "message_stop" };
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const completed = { type: "response.completed", response: {} };
  const typeLast = {
    response: { text: "x".repeat(9000) },
    type: "response.completed",
  };
  const broken = { error: { message: "no" } };
  const cases: readonly [string, Protocol, Uint8Array, AnswerEnd][] = [
    ["chat with [DONE]", "chat", sseBytes(finish, "[DONE]"), "whole"],
    ["chat without [DONE]", "chat", sseBytes(finish), "whole"],
    [
      "chat with usage last",
      "chat",
      sseBytes(finish, { choices: [] }),
      "whole",
    ],
    ["chat cut", "chat", sseBytes(chunk({ content: "a" })), "cut"],
    [
      "chat cut by an error",
      "chat",
      sseBytes(chunk({ content: "a" }), broken),
      "failed",
    ],
    ["messages", "messages", sseBytes(stop), "whole"],
    ["messages with [DONE]", "messages", sseBytes(stop, "[DONE]"), "whole"],
    ["messages with [DONE] alone", "messages", sseBytes("[DONE]"), "cut"],
    ["messages cut", "messages", sseBytes({ type: "ping" }), "cut"],
    ["responses", "responses", sseBytes(completed), "whole"],
    [
      "responses with [DONE]",
      "responses",
      sseBytes(completed, "[DONE]"),
      "whole",
    ],
    ["responses, type last", "responses", sseBytes(typeLast), "whole"],
    [
      "responses cut",
      "responses",
      sseBytes({ type: "response.created" }),
      "cut",
    ],
    [
      "chat cut by an error and [DONE]",
      "chat",
      sseBytes(broken, "[DONE]"),
      "whole",
    ],
    [
      "chat with an error as its finish_reason",
      "chat",
      sseBytes({
        choices: [{ delta: {}, finish_reason: "error", error: { code: 502 } }],
      }),
      "failed",
    ],
    [
      "chat with three events after its end",
      "chat",
      sseBytes(finish, { choices: [] }, { x: 1 }, { x: 2 }),
      "whole",
    ],
    [
      "chat with its end in the middle of a long line",
      "chat",
      sseBytes({ a: "x".repeat(9000), ...finish, z: "x".repeat(9000) }),
      "whole",
    ],
    [
      "chat with text about ends and errors",
      "chat",
      sseBytes(chunk({ content: JSON.stringify([finish, broken]) })),
      "cut",
    ],
    [
      "messages cut by an error",
      "messages",
      sseBytes({ type: "error", error: { type: "overloaded_error" } }),
      "failed",
    ],
    [
      "responses that failed",
      "responses",
      sseBytes({
        type: "response.failed",
        response: { status: "failed", text: "x".repeat(9000) },
      }),
      "whole",
    ],
    [
      "responses cut by an error",
      "responses",
      sseBytes({ type: "error", message: "no" }),
      "failed",
    ],
    [
      "responses that hold a failed call",
      "responses",
      sseBytes({
        type: "response.completed",
        response: { error: null, output: [{ type: "error" }] },
      }),
      "whole",
    ],
    ["nothing", "chat", new Uint8Array(), "cut"],
  ];
  await steps(t, cases, ([, protocol, stream, expected]) => {
    const { meter } = streamScene(protocol);
    meter.push(stream);
    assert.equal(meter.end(true), expected);
    assert.equal(meter.end(true), expected, "asked again");
  });
});

Deno.test("createStreamMeter() reads a complete last line without its line feed", () => {
  const whole = [
    ["chat", "data: [DONE]"],
    ["messages", 'data: {"type":"message_stop"}'],
    ["responses", 'data: {"type":"response.completed","response":{}}'],
  ] as const;
  for (const [protocol, last] of whole) {
    for (let length = 0; length <= last.length; length++) {
      const { meter } = streamScene(protocol);
      meter.push(encoder.encode("data: {}\n\n" + last.slice(0, length)));
      assert.equal(
        meter.end(true),
        length === last.length ? "whole" : "cut",
        last.slice(0, length),
      );
    }
  }
});

Deno.test("createStreamMeter() reads streams with any line ends and a byte order mark", () => {
  const events = [
    chunk({ content: "a" }),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
    "[DONE]",
  ];
  const text = new TextDecoder().decode(sseBytes(...events));
  for (const end of ["\n", "\r\n", "\r"]) {
    for (const mark of ["", "\uFEFF"]) {
      const bytes = encoder.encode(mark + text.replaceAll("\n", end));
      for (const pieces of [[bytes], cutAwkwardly(bytes)]) {
        const { meter, facts } = streamScene();
        for (const piece of pieces) meter.push(piece);
        assert.equal(meter.end(true), "whole");
        assert.equal(facts.answer.firstOutputMs, 0);
        assert.equal(facts.answer.usage?.inputTokens, 3);
        assert.equal(facts.answer.usage?.outputTokens, 2);
      }
    }
  }
});

Deno.test("createStreamMeter() finds the first output directly after a byte order mark", () => {
  const { meter, facts } = streamScene();
  meter.push(encoder.encode("\uFEFF"));
  meter.push(sseBytes(chunk({ content: "a" })));
  assert.equal(facts.answer.firstOutputMs, 0);
});

Deno.test("createStreamMeter() counts usage in a last line without its line feed", () => {
  const { meter, facts } = streamScene();
  meter.push(encoder.encode('data: {"usage":{"prompt_tokens":3}}'));
  meter.end(true);
  assert.equal(facts.answer.usage?.inputTokens, 3);
});

Deno.test("createStreamMeter() accepts streams of an unknown protocol", () => {
  const streams = [
    "data: {\n",
    "data: null\n",
    "data: [1]\n",
    'data: {"usage":{}}\n',
    'data: {"usage":{"prompt_tokens":"x"}}\n',
    "\u0000\u0001\n",
    "<html>\n",
  ];
  for (const protocol of ["chat", "messages", "responses"] as const) {
    for (const stream of streams) {
      const { meter, facts } = streamScene(protocol);
      meter.push(encoder.encode(stream));
      assert.equal(meter.end(true), "cut");
      assert.equal(facts.answer.usage, undefined);
      assert.equal(facts.bytesOut, encoder.encode(stream).length);
    }
  }
});

testNeeding(
  "createStreamMeter() returns the same counts as the codec for every recorded stream",
  !hasRecordings() && "there are no recordings here",
  () => {
    for (const protocol of ["chat", "messages", "responses"] as const) {
      for (const { name, stream } of loadRecordings(protocol)) {
        if (stream === undefined) continue;
        const { meter, facts } = streamScene(protocol);
        meter.push(stream);
        const isWhole = meter.end(true) === "whole";
        const decoder = CODECS[protocol].createStreamDecoder(randomIds);
        const frames = parseFrames(stream);
        const last = runStage(decoder, frames).at(-1);
        assert.equal(isWhole, last?.type === "end", name);
        if (frames.filter(isStart).length > 1) continue; // several answers
        const usage = last?.type === "end" ? last.usage : undefined;
        assert.deepEqual(countsOf(facts.answer.usage), countsOf(usage), name);
      }
    }
  },
);

Deno.test("createAnswerMeter() reads an answer after a byte order mark, whatever the chunk size", () => {
  const event = {
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  };
  const kinds = [
    {
      isStream: true,
      isJson: false,
      text: `data: ${JSON.stringify(event)}\n\n`,
    },
    { isStream: false, isJson: true, text: JSON.stringify(event) },
  ];
  for (const { text, ...label } of kinds) {
    const bytes = encoder.encode(`\ufeff${text}`);
    for (let size = 1; size <= 5; size++) {
      const { record } = openTestRecord();
      const meter = createAnswerMeter(CODECS.chat.watch, record, label);
      meter.push(bytes.slice(0, size));
      meter.push(bytes.slice(size));
      meter.end(true);
      const { answer: { usage }, bytesOut } = record.facts;
      assert.equal(usage?.inputTokens, 3, `${text} ${size}`);
      assert.equal(bytesOut, bytes.length);
    }
  }
});

Deno.test("createBodyMeter() reads the usage of a body in pieces", () => {
  const { meter, clock, facts } = bodyScene();
  const bytes = encoder.encode(JSON.stringify({
    choices: [{ message: { content: "é…🌻" } }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  }));
  clock.advance(3);
  for (const byte of bytes) meter.push(Uint8Array.of(byte));
  clock.advance(3);
  assert.equal(meter.end(true), "whole");
  assert.equal(facts.answer.firstOutputMs, 3);
  assert.equal(facts.bytesOut, bytes.length);
  assert.equal(facts.answer.usage?.inputTokens, 1);
});

Deno.test("createBodyMeter() copies the chunks that it keeps", () => {
  const { meter, facts } = bodyScene("messages");
  const bytes = encoder.encode('{"input_tokens":42}');
  meter.push(bytes);
  bytes.fill(0);
  meter.end(true);
  assert.equal(facts.answer.usage?.inputTokens, 42);
});

Deno.test("createBodyMeter() accepts bodies that are not JSON or have no usage", () => {
  for (const text of ["<html>", '["usage"]', '{"usage":{"x":1}}', "{]"]) {
    const { meter, facts } = bodyScene();
    meter.push(encoder.encode(text));
    assert.equal(meter.end(true), "whole");
    assert.equal(facts.answer.usage, undefined);
  }
});

Deno.test("createBodyMeter() distinguishes a complete JSON object from a cut one", () => {
  const text = ' {"a":[1,{"b":"}\\""}],"c":"ü"} ';
  const bytes = encoder.encode(text);
  const last = text.lastIndexOf("}") + 2; // in bytes, the ü has two
  for (let length = 0; length <= bytes.length; length++) {
    const { meter } = bodyScene();
    meter.push(bytes.subarray(0, length >> 1));
    meter.push(bytes.subarray(length >> 1, length));
    assert.equal(
      meter.end(true),
      length < last ? "cut" : "whole",
      text.slice(0, length),
    );
    assert.equal(meter.end(false), "cut");
  }
});

Deno.test("createBodyMeter() accepts a body with another content type", () => {
  const { record } = openTestRecord();
  const meter = createBodyMeter(CODECS.chat.watch, record, false);
  meter.push(encoder.encode('{"a":'));
  assert.equal(meter.end(true), "whole");
});

Deno.test("createBodyMeter() reads the usage of bodies up to 4 MiB, and only counts the bytes of longer ones", () => {
  const usage = '"usage":{"prompt_tokens":1}}';
  for (
    const [size, isSeen] of [[4 << 20, true], [(4 << 20) + 1, false]] as const
  ) {
    const { meter, facts } = bodyScene();
    const text = `{"a":"${"x".repeat(size - usage.length - 8)}",${usage}`;
    const bytes = encoder.encode(text);
    assert.equal(bytes.length, size);
    for (let start = 0; start < size; start += 1 << 20) {
      meter.push(bytes.subarray(start, start + (1 << 20)));
    }
    assert.equal(meter.end(true), "whole");
    assert.equal(facts.bytesOut, size);
    assert.equal(facts.answer.usage !== undefined, isSeen);
  }
});

/** Returns the counts of the answer itself. */
function countsOf(
  usage: Usage | undefined,
): Omit<Usage, "providerMetadata" | "others"> | undefined {
  if (usage === undefined) return undefined;
  const { providerMetadata: _providerMetadata, others: _others, ...counts } =
    usage;
  return counts;
}

function isStart({ data }: SseFrame): boolean {
  return /^\{"type":"(message_start|response\.created)"/.test(data);
}

Deno.test("createStreamMeter() stops looking for output after a thousand events without JSON, but still reads usage", () => {
  const { meter, facts } = streamScene();
  for (let count = 0; count < 1000; count++) meter.push(sseBytes("{"));
  meter.push(sseBytes(chunk({ content: "a" })));
  meter.push(
    sseBytes({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    }, "[DONE]"),
  );
  assert.equal(facts.answer.firstOutputMs, undefined);
  assert.equal(facts.answer.usage?.outputTokens, 2);
  assert.equal(meter.end(true), "whole");
});

Deno.test("the meters skip JSON that would take long to parse", () => {
  const junk = `"x":[${"{},".repeat(70_000)}{}]`;
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  const text = `{${junk},"usage":${JSON.stringify(usage)}}`;
  const stream = streamScene();
  stream.meter.push(sseBytes(text, "[DONE]"));
  assert.equal(stream.meter.end(true), "whole");
  assert.equal(stream.facts.answer.usage, undefined);
  const body = bodyScene();
  body.meter.push(encoder.encode(text));
  assert.equal(body.meter.end(true), "whole");
  assert.equal(body.facts.answer.usage, undefined);
});
