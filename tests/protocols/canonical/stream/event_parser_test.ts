import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../../src/core/json.ts";
import {
  EventParser,
  textIn,
} from "../../../../src/protocols/canonical/stream/event_parser.ts";

const textPlace = ({ delta }: JsonObject) => textIn(delta, ["text", "more"]);

function chunkOf(text: string): string {
  return `{"id":"a","delta":{"text":${JSON.stringify(text)}},"end":null}`;
}

Deno.test("EventParser parses events that differ in their text into one object", () => {
  const parser = new EventParser(textPlace);
  parser.parse(chunkOf("The"));
  const second = parser.parse(chunkOf(" second"));
  assert.deepEqual(second, parseJson(chunkOf(" second")));
  const third = parser.parse(chunkOf(' "third"\n'));
  assert.equal(third, second);
  assert.deepEqual(third, parseJson(chunkOf(' "third"\n')));
});

/** What may come between two events of the same form, each as likely to be taken for one as can be thought of. */
const ODD: Readonly<Record<string, string>> = {
  "a number in place of the text": '{"id":"a","delta":{"text":1},"end":null}',
  "null in place of the text": '{"id":"a","delta":{"text":null},"end":null}',
  "an object in place of the text":
    '{"id":"a","delta":{"text":{"text":"x"}},"end":null}',
  "no text": '{"id":"a","delta":{"text":},"end":null}',
  "two texts": '{"id":"a","delta":{"text":"x","y"},"end":null}',
  "a field behind the text":
    '{"id":"a","delta":{"text":"x","more":"y"},"end":null}',
  "the text a second time":
    '{"id":"a","delta":{"text":"x","text":"y"},"end":null}',
  "a quotation mark": '{"id":"a","delta":{"text":"x"y"},"end":null}',
  "a line feed": '{"id":"a","delta":{"text":"x\ny"},"end":null}',
  "an escape that is none": '{"id":"a","delta":{"text":"\\x"},"end":null}',
  "an escape at the end": '{"id":"a","delta":{"text":"\\"},"end":null}',
  "spaces around the text": '{"id":"a","delta":{"text": "x" },"end":null}',
  "escaped characters":
    '{"id":"a","delta":{"text":"\\u00e9\\ud83d\\"\\\\"},"end":null}',
  "an empty text": chunkOf(""),
  "the frame of an event without its middle":
    '{"id":"a","delta":{"text":},"end":null}',
  "the beginning and the end in one": '{"id":"a","delta":{"text"},"end":null}',
  "another beginning": chunkOf("x").replace('"a"', '"b"'),
  "another end": chunkOf("x").replace("null", '"stop"'),
  "an event that is cut": chunkOf("x").slice(0, -1),
  "an event with a tail": `${chunkOf("x")}{}`,
  "two events": chunkOf("x").repeat(2),
  "a list": `[${chunkOf("x")}]`,
  "a text alone": '"x"',
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

/** Events in which the text stands more than once, or in another spelling than elsewhere. */
const MISLEADING: Readonly<Record<string, string>> = {
  "behind it": '{"delta":{"text":"x"},"end":"x"}',
  "before it": '{"id":"x","delta":{"text":"x"}}',
  "as a name behind it": '{"delta":{"text":"end"},"end":"x"}',
  "in an escaped text": '{"delta":{"text":"x"},"end":"\\"x"}',
  "spelled with escapes, and plainly behind it":
    '{"delta":{"text":"\\u0078"},"end":"x"}',
  "twice under one name": '{"delta":{"text":"x","text":"x"}}',
  "in the text itself": '{"delta":{"text":"a \\"x\\" b"}}',
};

for (const [name, data] of Object.entries(MISLEADING)) {
  Deno.test(`EventParser is not misled by a text that stands ${name}`, () => {
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

Deno.test("EventParser looks for no more texts where no event is like the one before", () => {
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

Deno.test("EventParser goes on looking where kinds of event take turns", () => {
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

Deno.test("textIn() finds the first of the fields that holds a text", () => {
  const holder = { empty: "", number: 1, text: "x", more: "y" };
  const fields = ["none", "empty", "number", "text", "more"];
  assert.deepEqual(textIn(holder, fields), { holder, field: "text" });
  assert.equal(textIn({ empty: "" }, fields), undefined);
  for (const none of [undefined, null, "text", ["text"]]) {
    assert.equal(isJsonObject(none), false);
    assert.equal(textIn(none, fields), undefined);
  }
});

Deno.test("EventParser parses a long event once, and makes no template of it", () => {
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
