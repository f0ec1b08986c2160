import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../../src/base/json.ts";
import { runStage } from "../../../../src/base/stage.ts";
import {
  EventParser,
  readFrames,
  textIn,
} from "../../../../src/codecs/canonical/stream/read_frames.ts";
import { createSseParser } from "../../../../src/base/streams/sse.ts";

/** The events that a decoder receives for a stream's bytes; a failure ends the list. */
function eventsOf(text: string): unknown[] {
  const heard: unknown[] = [];
  const stage = readFrames({
    push(event, name) {
      heard.push(name === undefined ? event : { name, ...event });
    },
    done: () => heard.push("done"),
    end() {},
  });
  const frames = runStage(createSseParser({ maxFrameCharacters: 1 << 16 }), [
    new TextEncoder().encode(text),
  ]);
  for (const event of runStage(stage, frames)) heard.push(event.type);
  return heard;
}

const FIRST: JsonObject = { a: 1 };
const SECOND: JsonObject = { b: 2 };

/** Frames without meaning, which providers and proxies send between events. */
const SILENT = {
  "an empty data line": "data:\n\n",
  "a data line with a space": "data: \n\n",
  "a word": "data: ping\n\n",
  "a comment in the data": "data: : keep-alive\n\n",
  "a word in brackets": "data: [heartbeat]\n\n",
  "OpenRouter's words": ": OPENROUTER PROCESSING\n\n",
  "OpenRouter's words as data": "data: OPENROUTER PROCESSING\n\n",
  "null": "data: null\n\n",
  "a word as JSON": 'data: "ping"\n\n',
  "a name alone": "event: ping\n\n",
  "a name with empty data": "event: ping\ndata:\n\n",
  "an id and a retry": "id: 7\nretry: 100\n\n",
};

for (const [name, text] of Object.entries(SILENT)) {
  Deno.test(`readFrames() skips ${name}`, () => {
    assert.deepEqual(
      eventsOf(
        `data: {"a":1}\n\n${text}data: {"b":2}\n\n${text}data: [DONE]\n\n`,
      ),
      [FIRST, SECOND, "done"],
    );
  });
}

Deno.test("readFrames() recognizes every spelling of [DONE]", () => {
  const ends = [
    "data: [DONE]\n\n",
    "data:[DONE]\n\n",
    "data: [DONE] \n\n",
    "data:  [DONE]\r\n\r\n",
    'data: "[DONE]"\n\n',
    "data: [done]\n\n",
    "data: [DONE]",
    "event: done\ndata: [DONE]\n\n",
  ];
  for (const end of ends) {
    assert.deepEqual(eventsOf(`\ufeffdata: {"a":1}\n\n${end}`), [
      FIRST,
      "done",
    ]);
  }
});

Deno.test("readFrames() reads events without a blank line between them, and lists of events", () => {
  assert.deepEqual(eventsOf('data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n\n'), [
    FIRST,
    SECOND,
    "done",
  ]);
  assert.deepEqual(eventsOf('data: [{"a":1},{"b":2}]\n\n'), [FIRST, SECOND]);
});

Deno.test("readFrames() reads one object from several data lines", () => {
  assert.deepEqual(eventsOf('data: {"a":\ndata: 1}\n\n'), [FIRST]);
});

Deno.test("readFrames() reads an `error` event of plain text", () => {
  assert.deepEqual(eventsOf("event: error\ndata: Bad Gateway\n\n"), [
    { name: "error", error: { message: "Bad Gateway" } },
  ]);
});

Deno.test("readFrames() fails the answer for unknown data that may belong to the answer", () => {
  const texts = [
    '{"a":',
    "7",
    "true",
    "[1]",
    "[]",
    '{"a":1} {"b":2}',
    '<p class="x">',
  ];
  for (const text of texts) {
    assert.deepEqual(eventsOf(`data: ${text}\n\n`), ["failure"], text);
  }
});

Deno.test("readFrames() fails the answer for every kind of event that takes long to parse", () => {
  const long: Readonly<Record<string, string>> = {
    "of many values": `{"a":[${"0,".repeat(70_000)}0]}`,
    "that is deep": "[".repeat(70_000),
    "of many lines": '{"a":1}\ndata: '.repeat(70_000),
  };
  for (const [name, data] of Object.entries(long)) {
    const failures: unknown[] = [];
    const stage = readFrames({ push() {}, done() {}, end() {} });
    const frames = [{ data: data.replaceAll("\ndata: ", "\n") }];
    for (const event of runStage(stage, frames)) {
      if (event.type === "failure") failures.push(event.failure.kind);
    }
    assert.deepEqual(failures, ["oversized"], name);
  }
});

const textPlace = ({ delta }: JsonObject) => textIn(delta, ["text", "more"]);

function chunkOf(text: string): string {
  return `{"id":"a","delta":{"text":${JSON.stringify(text)}},"end":null}`;
}

Deno.test("EventParser parses events that differ only in their text into one object", () => {
  const parser = new EventParser(textPlace);
  parser.parse(chunkOf("The"));
  const second = parser.parse(chunkOf(" second"));
  assert.deepEqual(second, parseJson(chunkOf(" second")));
  const third = parser.parse(chunkOf(' "third"\n'));
  assert.equal(third, second);
  assert.deepEqual(third, parseJson(chunkOf(' "third"\n')));
});

/** Frames that may come between two events and resemble an event. */
const ODD: Readonly<Record<string, string>> = {
  "a number in place of the text": '{"id":"a","delta":{"text":1},"end":null}',
  "null in place of the text": '{"id":"a","delta":{"text":null},"end":null}',
  "an object in place of the text":
    '{"id":"a","delta":{"text":{"text":"x"}},"end":null}',
  "no text": '{"id":"a","delta":{"text":},"end":null}',
  "two texts": '{"id":"a","delta":{"text":"x","y"},"end":null}',
  "a field after the text":
    '{"id":"a","delta":{"text":"x","more":"y"},"end":null}',
  "a second text": '{"id":"a","delta":{"text":"x","text":"y"},"end":null}',
  "a quotation mark": '{"id":"a","delta":{"text":"x"y"},"end":null}',
  "a line feed": '{"id":"a","delta":{"text":"x\ny"},"end":null}',
  "an invalid escape": '{"id":"a","delta":{"text":"\\x"},"end":null}',
  "an escape at the end": '{"id":"a","delta":{"text":"\\"},"end":null}',
  "spaces around the text": '{"id":"a","delta":{"text": "x" },"end":null}',
  "escaped characters":
    '{"id":"a","delta":{"text":"\\u00e9\\ud83d\\"\\\\"},"end":null}',
  "an empty text": chunkOf(""),
  "an event without its text": '{"id":"a","delta":{"text":},"end":null}',
  "an event whose beginning and end overlap":
    '{"id":"a","delta":{"text"},"end":null}',
  "another beginning": chunkOf("x").replace('"a"', '"b"'),
  "another end": chunkOf("x").replace("null", '"stop"'),
  "an event without its last character": chunkOf("x").slice(0, -1),
  "an event with a tail": `${chunkOf("x")}{}`,
  "two events": chunkOf("x").repeat(2),
  "a list": `[${chunkOf("x")}]`,
  "only a text": '"x"',
  "nothing": "",
};

for (const [name, data] of Object.entries(ODD)) {
  Deno.test(`EventParser reads ${name} as JSON does`, () => {
    const parser = new EventParser(textPlace);
    for (const text of ["The", " first", " two"]) parser.parse(chunkOf(text));
    assert.deepEqual(parser.parse(data), parseJson(data));
    const next = chunkOf(" next");
    assert.deepEqual(parser.parse(next), parseJson(next));
  });
}

Deno.test("EventParser reads each character, in texts of all short lengths, as JSON does", () => {
  const parser = new EventParser(textPlace);
  for (const text of ["The", " first", " two"]) parser.parse(chunkOf(text));
  const [head = "", tail = ""] = chunkOf("|").split('"|"');
  const codes = [...Array(0x180).keys(), 0x2028, 0x4e2d, 0xd83d, 0xde00];
  for (const code of codes) {
    for (let length = 0; length < 20; length++) {
      const text = "x".repeat(length);
      const character = String.fromCharCode(code);
      for (const odd of [`${character}${text}`, `${text}${character}`]) {
        const data = `${head}"${odd}"${tail}`;
        assert.deepEqual(parser.parse(data), parseJson(data));
        const cut = `${head}${odd}${tail}`;
        assert.deepEqual(parser.parse(cut), parseJson(cut));
      }
    }
  }
});

/** Events in which a text appears twice, or in an unusual spelling. */
const MISLEADING: Readonly<Record<string, string>> = {
  "repeated after it": '{"delta":{"text":"x"},"end":"x"}',
  "repeated before it": '{"id":"x","delta":{"text":"x"}}',
  "the name of a later field": '{"delta":{"text":"end"},"end":"x"}',
  "repeated after an escape": '{"delta":{"text":"x"},"end":"\\"x"}',
  "spelled with escapes, and repeated without":
    '{"delta":{"text":"\\u0078"},"end":"x"}',
  "twice in one field": '{"delta":{"text":"x","text":"x"}}',
  "quoted in itself": '{"delta":{"text":"a \\"x\\" b"}}',
};

for (const [name, data] of Object.entries(MISLEADING)) {
  Deno.test(`EventParser reads an event as JSON does when the text is ${name}`, () => {
    const parser = new EventParser(textPlace);
    for (const middle of ["x", "y", "z", "", '\\"x', '\\"']) {
      const next = data.replaceAll("x", middle);
      assert.deepEqual(parser.parse(next), parseJson(next));
      const last = replaceLast(data, "x", middle);
      assert.deepEqual(parser.parse(last), parseJson(last));
    }
  });
}

function replaceLast(text: string, old: string, now: string): string {
  const at = text.lastIndexOf(old);
  return text.slice(0, at) + now + text.slice(at + old.length);
}

Deno.test("EventParser stops making templates when no event matches the previous one", () => {
  let looks = 0;
  const parser = new EventParser((event) => {
    looks++;
    return textPlace(event);
  });
  for (let count = 0; count < 100; count++) {
    const data = `{"delta":{"text":"x"},"count":${count}}`;
    assert.deepEqual(parser.parse(data), parseJson(data));
  }
  assert.equal(looks < 20, true);
  assert.deepEqual(parser.parse(chunkOf("x")), parseJson(chunkOf("x")));
});

Deno.test("EventParser goes on making templates when kinds of event alternate", () => {
  const parser = new EventParser(textPlace);
  let reused = 0;
  for (let turn = 0; turn < 50; turn++) {
    const kinds = [0, 1, 2].map((count) =>
      `{"turn":${turn},"delta":{"text":"word ${count}"}}`
    );
    const events = kinds.map((data) => {
      const event = parser.parse(data);
      assert.deepEqual(event, parseJson(data));
      return event;
    });
    if (events[1] === events[2]) reused++;
  }
  assert.equal(reused, 50);
});

Deno.test("textIn() returns the first of the fields with a text", () => {
  const holder = { empty: "", number: 1, text: "x", more: "y" };
  const fields = ["none", "empty", "number", "text", "more"];
  assert.deepEqual(textIn(holder, fields), { holder, field: "text" });
  assert.equal(textIn({ empty: "" }, fields), undefined);
  for (const none of [undefined, null, "text", ["text"]]) {
    assert.equal(isJsonObject(none), false);
    assert.equal(textIn(none, fields), undefined);
  }
});

Deno.test("EventParser makes no template of a long event", () => {
  let looks = 0;
  const parser = new EventParser((event) => {
    looks++;
    return textPlace(event);
  });
  const long = chunkOf("\n".repeat(64 * 1024));
  for (let count = 0; count < 3; count++) {
    assert.deepEqual(parser.parse(long), parseJson(long));
  }
  assert.equal(looks, 0);
  parser.parse(chunkOf("The"));
  const second = parser.parse(chunkOf(" second"));
  assert.equal(parser.parse(chunkOf(" third")), second);
});
