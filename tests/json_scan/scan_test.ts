import { deepEqual, equal, fail, ok, throws } from "node:assert/strict";
import { JsonScanError } from "../../src/json_scan/scan_error.ts";
import { JsonObjectScan } from "../../src/json_scan/scan.ts";
import {
  mutateBytes,
  randomJsonObject,
} from "../support/json/json_documents.ts";
import { judgeJsonObject } from "../support/json/json_oracle.ts";
import { createRandom } from "../support/fakes/random.ts";
import { scanJsonObject } from "../support/json/scan_json.ts";
import { steps } from "../support/steps.ts";

type JsonScanReason = JsonScanError["reason"];

const KEYS = ["model", "stream"];
const ROUNDS = 10_000;

function bytesOf(...parts: readonly (string | readonly number[])[]) {
  const encoder = new TextEncoder();
  return Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === "string" ? [...encoder.encode(part)] : part
    ),
  );
}

/** Returns the texts of the watched values in `bytes`. */
function scanned(
  bytes: Uint8Array,
  keys: readonly string[] = KEYS,
): Record<string, string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return Object.fromEntries(
    [...scanJsonObject(bytes, keys)].map(([key, { start, end }]) => [
      key,
      decoder.decode(bytes.subarray(start, end)),
    ]),
  );
}

function refusal(bytes: Uint8Array): JsonScanError {
  try {
    scanJsonObject(bytes, KEYS);
  } catch (error) {
    if (error instanceof JsonScanError) return error;
    throw error;
  }
  return fail(`accepted ${JSON.stringify(new TextDecoder().decode(bytes))}`);
}

Deno.test("JsonObjectScan returns the span of each watched value, without the white space around it", async (t) => {
  const values = [
    `"glm-5.1"`,
    `""`,
    `"\\"}\\\\"`,
    `"Привет 👩🏽‍💻"`,
    `true`,
    `false`,
    `null`,
    `0`,
    `-0`,
    `-12.50e+3`,
    `1E400`,
    `{}`,
    `[]`,
    `{ "model" : [ { "stream" : 1 } , "]" ] }`,
    `[[1, 2], {"a": "}"}]`,
  ];
  await steps(t, values, (value) => {
    for (const space of ["", " ", "\r\n\t "]) {
      const member = `${space}"model"${space}:${space}${value}${space}`;
      const document = `${space}{"a":[1],${member},"z":{}}${space}`;
      deepEqual(scanned(bytesOf(document)), { model: value });
      deepEqual(scanned(bytesOf(`{${member}}`)), { model: value });
    }
  });
});

Deno.test("JsonObjectScan returns nothing for an absent key", () => {
  deepEqual(scanned(bytesOf("{}")), {});
  deepEqual(scanned(bytesOf(" {\n} ")), {});
  deepEqual(scanned(bytesOf(`{"a":1}`)), {});
  deepEqual(scanned(bytesOf(`{"model":1}`), []), {});
});

Deno.test("JsonObjectScan finds any printable ASCII key, in any spelling", () => {
  const body = bytesOf(`{"usage":1,"":2,"\\u0022\\/\\\\":3,"a b~":4}`);
  deepEqual(scanned(body, ["usage", "", '"/\\', 'a b~"', "a b~", "none"]), {
    usage: "1",
    "": "2",
    '"/\\': "3",
    "a b~": "4",
  });
});

Deno.test("JsonObjectScan rejects a watched key that is not printable ASCII", () => {
  for (const key of ["modèle", "a\n", "\u0000", "👩"]) {
    throws(() => scanJsonObject(bytesOf("{}"), ["model", key]), TypeError);
  }
});

Deno.test("JsonObjectScan compares keys after decoding their escapes", async (t) => {
  const spellings = [
    `"mod\\u0065l"`,
    `"\\u006dodel"`,
    `"mode\\u006c"`,
    `"mode\\u006C"`,
    `"\\u006d\\u006f\\u0064\\u0065\\u006c"`,
  ];
  await steps(t, spellings, (spelling) => {
    deepEqual(scanned(bytesOf(`{${spelling}:1}`)), { model: "1" });
  });
});

Deno.test("JsonObjectScan rejects a key that differs from a watched one only in case, because some parsers accept it", async (t) => {
  const bodies = [
    `{"Model":1}`,
    `{"model":1,"MODEL":2}`,
    `{"mODEL":1,"model":2}`,
    `{"\\u004dodel":1}`,
    `{"x":1,"Stream":true}`,
  ];
  await steps(t, bodies, (body) => {
    throws(
      () => scanJsonObject(bytesOf(body), ["model", "stream"]),
      (error) =>
        error instanceof JsonScanError && error.reason === "duplicate_key" &&
        (error.key === "model" || error.key === "stream"),
    );
  });
  deepEqual(scanned(bytesOf(`{"model":1,"x":{"Model":2}}`)), { model: "1" });
});

Deno.test("JsonObjectScan ignores keys that only resemble a watched one", async (t) => {
  const names = [
    `"mode"`,
    `"modell"`,
    `" model"`,
    `"model "`,
    `"mod\\\\u0065l"`,
    `"m\\u000fdel"`,
    `"M-del"`,
    `"model\\u0000"`,
    `"\\model"`.replace("\\m", "\\nm"),
    `"mo\\u0064e"`,
    `"\\"model\\""`,
    `"m\\u043edel"`,
    `"mоdel"`,
    `"st\\ream"`,
    `"s\\tream"`,
    `"\\u0173tream"`,
    `""`,
  ];
  await steps(t, names, (name) => {
    deepEqual(scanned(bytesOf(`{${name}:1,"model":2,"stream":3}`)), {
      model: "2",
      stream: "3",
    });
  });
});

Deno.test("JsonObjectScan rejects a duplicate watched key at the top level", async (t) => {
  const spellings = [
    `"model"`,
    `"mod\\u0065l"`,
    `"\\u006dodel"`,
    `"\\u006D\\u006F\\u0064\\u0065\\u006C"`,
  ];
  for (const first of spellings) {
    for (const second of spellings) {
      await t.step(`${first} and ${second}`, () => {
        const head = `{"a":"é",${first}:"x",`;
        const { reason, key, offset } = refusal(
          bytesOf(`${head}${second}:"x","stream":true}`),
        );
        deepEqual({ reason, key, offset }, {
          reason: "duplicate_key",
          key: "model",
          offset: bytesOf(head).length,
        });
      });
    }
  }
});

Deno.test("JsonObjectScan accepts duplicates of other keys, and of watched keys in nested objects", () => {
  const nested = `{"model":1,"model":2,"stream":[{"stream":1,"stream":2}]}`;
  const document =
    `{"a":${nested},"a":${nested},"__proto__":1,"model":"m","__proto__":2}`;
  deepEqual(scanned(bytesOf(document)), { model: `"m"` });
});

Deno.test("JsonObjectScan accepts everything that JSON.parse accepts", async (t) => {
  const values = [
    `"\\ud800"`,
    `"\\udc00\\ud800"`,
    `"\\u0000\\b\\f\\n\\r\\t\\/\\"\\\\"`,
    `"\u007f\u2028\u2029\ufeff\ufffe\uffff"`,
    `[1e400,-1e400,1e-400,-0,0.0,0e0,0E-0,123456789012345678901234567890]`,
    `{"":{"":{"":null}}}`,
    `[[],{},[{}],[[]]]`,
    `[ ]`,
    `{ }`,
    `[1 , 2\t,\n3\r]`,
  ];
  for (const value of values) {
    await t.step(JSON.stringify(value), () => {
      const document = `{"model":${value}}`;
      JSON.parse(document);
      deepEqual(scanned(bytesOf(document)), { model: value });
    });
  }
});

Deno.test("JsonObjectScan rejects everything except exactly one JSON object, and names the offset", async (t) => {
  const cases: [body: string, reason: JsonScanReason, offset: number][] = [
    ["", "syntax", 0],
    [" \r\n\t", "syntax", 4],
    ["[]", "not_object", 0],
    [" [{}]", "not_object", 1],
    [`"model"`, "not_object", 0],
    ["-1", "not_object", 0],
    ["9", "not_object", 0],
    ["true", "not_object", 0],
    ["false", "not_object", 0],
    ["null", "not_object", 0],
    ["model", "syntax", 0],
    ["}", "syntax", 0],
    ["\u00a0{}", "syntax", 0],
    ["\v{}", "syntax", 0],
    ["\ufeff{}", "encoding", 0],
    [" \ufeff{}", "syntax", 1],
    ["{}{}", "syntax", 2],
    ["{} x", "syntax", 3],
    ["{}}", "syntax", 2],
    ["{}\u0000", "syntax", 2],
    ["{},", "syntax", 2],
    ["{", "syntax", 1],
    ["{ ", "syntax", 2],
    ["{]", "syntax", 1],
    ["{,}", "syntax", 1],
    [`{"a"}`, "syntax", 4],
    [`{"a":}`, "syntax", 5],
    [`{"a":1,}`, "syntax", 7],
    [`{"a":1,,"b":2}`, "syntax", 7],
    [`{"a":1 "b":2}`, "syntax", 7],
    [`{"a":1;"b":2}`, "syntax", 6],
    [`{"a"::1}`, "syntax", 5],
    [`{"a" 1}`, "syntax", 5],
    [`{a:1}`, "syntax", 1],
    [`{'a':1}`, "syntax", 1],
    [`{1:1}`, "syntax", 1],
    [`{"a":1]`, "syntax", 6],
    [`{"a":[1}`, "syntax", 7],
    [`{"a":[1,]}`, "syntax", 8],
    [`{"a":[,1]}`, "syntax", 6],
    [`{"a":[1 2]}`, "syntax", 8],
    [`{"a":[1[2]]}`, "syntax", 7],
    [`{"a":[[1][2]]}`, "syntax", 9],
    [`{"a":[1:2]}`, "syntax", 7],
    [`{"a":[[]}`, "syntax", 8],
    [`{"a":{"b":1]}`, "syntax", 11],
    [`{"a":{"b"}}`, "syntax", 9],
    [`{"a":{"b":1,}}`, "syntax", 12],
    [`{"a":{"b":{}]}`, "syntax", 12],
    [`{"a":{"b":1{}}`, "syntax", 11],
    [`{"a":{1:2}}`, "syntax", 6],
    [`{"a":[{]]}`, "syntax", 7],
    [`{"a":/**/1}`, "syntax", 5],
    [`{"a":01}`, "syntax", 6],
    [`{"a":-01}`, "syntax", 7],
    [`{"a":+1}`, "syntax", 5],
    [`{"a":-}`, "syntax", 6],
    [`{"a":--1}`, "syntax", 6],
    [`{"a":.5}`, "syntax", 5],
    [`{"a":1.}`, "syntax", 7],
    [`{"a":1.e1}`, "syntax", 7],
    [`{"a":1e}`, "syntax", 7],
    [`{"a":1e+}`, "syntax", 8],
    [`{"a":1e1.5}`, "syntax", 8],
    [`{"a":1.2.3}`, "syntax", 8],
    [`{"a":0x10}`, "syntax", 6],
    [`{"a":1_000}`, "syntax", 6],
    [`{"a":NaN}`, "syntax", 5],
    [`{"a":Infinity}`, "syntax", 5],
    [`{"a":undefined}`, "syntax", 5],
    [`{"a":True}`, "syntax", 5],
    [`{"a":txue}`, "syntax", 6],
    [`{"a":tru}`, "syntax", 8],
    [`{"a":truex}`, "syntax", 9],
    [`{"a":fAlse}`, "syntax", 6],
    [`{"a":fals3}`, "syntax", 9],
    [`{"a":nil}`, "syntax", 6],
    [`{"a":nul1}`, "syntax", 8],
    [`{"a":"\n"}`, "syntax", 6],
    [`{"a":"\u0000"}`, "syntax", 6],
    [`{"a":"é\u001f"}`, "syntax", 8],
    [`{"a":"12345678\t"}`, "syntax", 14],
    [`{"a\n":1}`, "syntax", 3],
    [`{"a":"\\x41"}`, "syntax", 7],
    [`{"a":"\\'"}`, "syntax", 7],
    [`{"a":"\\é"}`, "syntax", 7],
    [`{"a":"\\U0041"}`, "syntax", 7],
    [`{"a":"\\u00g1"}`, "syntax", 10],
    [`{"a":"\\u004"}`, "syntax", 11],
    [`{"a":"\\u+041"}`, "syntax", 8],
    [`{"a":"\\"}`, "syntax", 9],
    [`{"a":"b}`, "syntax", 8],
    [`{"\\x":1}`, "syntax", 3],
  ];
  for (const [body, reason, offset] of cases) {
    await t.step(JSON.stringify(body), () => {
      const error = refusal(bytesOf(body));
      deepEqual(
        { reason: error.reason, offset: error.offset, key: error.key },
        { reason, offset, key: undefined },
      );
    });
  }
});

Deno.test("JsonObjectScan rejects bytes that are not UTF-8, and names the offset", async (t) => {
  const cases: [name: string, bytes: number[], offset: number][] = [
    ["a stray continuation byte", [0x80], 0],
    ["a lead byte of nothing", [0xff], 0],
    ["an overlong slash", [0xc0, 0xaf], 0],
    ["an overlong NUL", [0xc0, 0x80], 0],
    ["an overlong quote", [0xe0, 0x80, 0xa2], 1],
    ["an overlong form of four bytes", [0xf0, 0x8f, 0xbf, 0xbf], 1],
    ["a surrogate", [0xed, 0xa0, 0x80], 1],
    ["above U+10FFFF", [0xf4, 0x90, 0x80, 0x80], 1],
    ["a lead byte of five", [0xf8, 0x88, 0x80, 0x80, 0x80], 0],
    ["a character cut short", [0xe2, 0x82], 2],
    ["Latin-1", [0xe9], 1],
  ];
  await steps(t, cases, ([, bytes, offset]) => {
    for (const text of ["", "a", "seven b", "long enough for words", "é"]) {
      const head = `{"a":"${text}`;
      const error = refusal(bytesOf(head, bytes, `","model":"m"}`));
      equal(error.reason, "encoding");
      equal(error.offset, bytesOf(head).length + offset);
    }
  });
});

Deno.test("JsonObjectScan accepts the same byte sequences as TextDecoder", () => {
  const borders = [0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
  const sequences: number[][] = [];
  for (let lead = 0x80; lead < 0x100; lead++) {
    for (let second = 0; second < 0x100; second++) {
      sequences.push([lead, second]);
    }
    const longer = borders.map((second) => [lead, second]);
    for (let length = 3; length <= (lead < 0xe0 ? 2 : 4); length++) {
      const shorter = longer.splice(0);
      for (const head of shorter) {
        longer.push(...borders.map((last) => [...head, last]));
      }
      sequences.push(...longer);
    }
  }
  for (const sequence of sequences) {
    const bytes = bytesOf(`{"model":"`, sequence, `"}`);
    assertAgrees(bytes, `bytes ${sequence}`);
  }
});

Deno.test("JsonObjectScan accepts the same escapes as JSON.parse", () => {
  for (let byte = 0; byte < 0x100; byte++) {
    for (const tail of ["", "0", "00e9", "00E9", "00eg", "-001", " 001"]) {
      const bytes = bytesOf(`{"model":"\\`, [byte], `${tail}"}`);
      assertAgrees(bytes, `escape ${byte}`);
    }
    for (let place = 0; place < 4; place++) {
      const digits = [0x30, 0x30, 0x30, 0x30].with(place, byte);
      const bytes = bytesOf(`{"model":"\\u`, digits, `"}`);
      assertAgrees(bytes, `digits ${digits}`);
    }
  }
});

Deno.test("JsonObjectScan checks every byte of a string, at every position and alignment", () => {
  const specials = [0x00, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f];
  for (const special of [...specials, 0x80, 0xc3, 0xff]) {
    for (let length = 1; length < 14; length++) {
      for (let place = 0; place < length; place++) {
        const string = new Array(length).fill(0x61).with(place, special);
        for (const head of [`{"model":"`, `{ "model":"`]) {
          assertAgrees(bytesOf(head, string, `"}`), `${special} at ${place}`);
        }
        assertAgrees(bytesOf(`{"model":"`, string), `${special} at ${place}`);
      }
    }
  }
});

Deno.test("JsonObjectScan reads only its view of a buffer", () => {
  const document = bytesOf(`{"model":"m"}`);
  for (let offset = 0; offset < 9; offset++) {
    for (const around of [`"`, "}", "a", "é"]) {
      const buffer = bytesOf(around.repeat(document.length + 20));
      buffer.set(document, offset);
      const view = buffer.subarray(offset, offset + document.length);
      deepEqual(scanned(view), { model: `"m"` });
      equal(refusal(view.subarray(0, -2)).offset, document.length - 2);
    }
  }
});

Deno.test("JsonObjectScan rejects every beginning of a document as incomplete", () => {
  const document = bytesOf(
    `{"a":[-1.5e-3,{"b":true,"é":null},[],{}],"model":"é\\u00e9\\n👩","stream":false}`,
  );
  for (let length = 0; length < document.length; length++) {
    const { reason, offset } = refusal(document.subarray(0, length));
    deepEqual({ length, reason, offset }, {
      length,
      reason: "syntax",
      offset: length,
    });
  }
});

Deno.test("JsonObjectScan scans 100,000 levels", async (t) => {
  const depth = 100_000;
  const shapes: [name: string, open: string, close: string][] = [
    ["arrays", "[", "]"],
    ["objects", `{"model":`, "}"],
    ["both by turns", `[{"a":`, "}]"],
    ["both in a long pattern", `[[[{"":[{"":{"a":[`, "]}}]}]]]"],
  ];
  await steps(t, shapes, ([, open, close]) => {
    const value = `${open.repeat(depth)}0${close.repeat(depth)}`;
    const document = bytesOf(`{"model":${value},"stream":true}`);
    const spans = scanJsonObject(document, KEYS);
    deepEqual(spans.get("model"), { start: 9, end: 9 + value.length });
    equal(spans.size, 2);
    equal(refusal(document.subarray(0, -20)).reason, "syntax");
  });
});

Deno.test("JsonObjectScan counts objects, arrays, members and levels, in input pieces of any length", () => {
  const documents = [
    ["{}", 1, 1],
    [`{"model":1,"b":[1,2,"{",{}]}`, 5, 3],
    [`{"a":{"b":{"c":[[],[{"d":null,"\\"e":[]}]]}}}`, 13, 7],
  ] as const;
  for (const [document, values, depth] of documents) {
    const bytes = bytesOf(document);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const scan = new JsonObjectScan(KEYS);
      scan.push(bytes.subarray(0, cut));
      scan.push(bytes.subarray(cut));
      scan.end();
      equal(scan.values, values, document);
      equal(scan.depth, depth, document);
    }
  }
});

Deno.test("JsonObjectScan rejects a wrong closing bracket at every depth", () => {
  for (let depth = 1; depth <= 100; depth++) {
    for (const wrong of new Set([0, 1, 31, 32, 33, 63, 64, depth - 1])) {
      if (wrong >= depth) continue;
      const closers = new Array(depth).fill("]").with(depth - 1 - wrong, "}");
      const head = `{"model":${"[".repeat(depth)}`;
      const { offset } = refusal(bytesOf(`${head}${closers.join("")}}`));
      equal(offset, head.length + depth - 1 - wrong);
    }
  }
});

Deno.test("JsonObjectScan finds a key after 300,000 others", () => {
  const members = Array.from({ length: 300_000 }, (_, i) => `"mode${i}":${i}`);
  const document = bytesOf(`{${members.join(",")},"model":"last"}`);
  deepEqual(scanned(document), { model: `"last"` });
});

Deno.test("JsonObjectScan reports a fault with a remedy, and quotes nothing of the body", () => {
  const cases: [body: string, fault: string][] = [
    ["", "it is empty. Send one JSON object."],
    [" \n", "it is empty. Send one JSON object."],
    [`"s3cret"`, "another value begins at offset 0. Send one JSON object."],
    ["s3cret", "the byte at offset 0 is not allowed there. Send valid JSON."],
    [
      `{"s3cret":s3cret}`,
      "the byte at offset 10 is not allowed there. Send valid JSON.",
    ],
    [
      `{"s3cret":"s3cret`,
      "it ends too early, after 17 bytes. Send the whole object.",
    ],
    [
      `{"s3cret":1} s3cret`,
      "more follows the object, at offset 13. Send the object alone.",
    ],
    ["\ufeff{}", "it begins with a byte order mark. Send UTF-8 without one."],
    [
      `{"s3cret":1,"model":"s3cret","mod\\u0065l":"s3cret"}`,
      `"model" occurs in it twice, again at offset 29. Send it once.`,
    ],
  ];
  for (const [body, fault] of cases) {
    const { name, message } = refusal(bytesOf(body));
    equal(name, "JsonScanError");
    equal(message, `Cannot read the body as one JSON object: ${fault}`);
  }
  equal(
    refusal(bytesOf(`{"s3cret":"`, [0xff], `s3cret"}`)).message,
    "Cannot read the body as one JSON object: the byte at offset 11 is not valid UTF-8. Send JSON in UTF-8.",
  );
});

/**
 * Scans a document in pieces of `nextBytes()` bytes, each of which is detached afterwards. Returns the result or the
 * error.
 */
function scanPieces(
  document: Uint8Array,
  nextBytes: () => number,
): Record<string, unknown> {
  const scan = new JsonObjectScan(KEYS);
  try {
    for (let start = 0; start < document.length;) {
      const piece = document.slice(start, start + nextBytes());
      start += piece.length;
      scan.push(piece);
      piece.buffer.transfer();
    }
    return Object.fromEntries(scan.end());
  } catch (error) {
    if (error instanceof JsonScanError) return { message: error.message };
    throw error;
  }
}

Deno.test("JsonObjectScan has the same result however the document is divided", () => {
  const seed = Number(Deno.env.get("JSON_SCAN_SEED") ?? Date.now() % 2 ** 31);
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round);
    const label = `JSON_SCAN_SEED=${seed}, round ${round}`;
    const valid = bytesOf(randomJsonObject(random, { keys: KEYS }));
    const document = round % 2 === 0 ? valid : mutateBytes(valid, random);
    const whole = scanPieces(document, () => Infinity);
    const most = random.pick([1, 3, 8, 100]);
    const pieces = scanPieces(document, () => 1 + random.below(most));
    deepEqual(pieces, whole, label);
    if (whole.message !== undefined) refused++;
  }
  ok(refused > ROUNDS / 10 && refused < ROUNDS, `${refused} refused`);
});

Deno.test("JsonObjectScan has the same result for a long text cut at any position", () => {
  const text = `${"plain ".repeat(30)}é👩🏽‍💻\\n${"x".repeat(70)}\\u00e9你好`;
  const document = bytesOf(`{"a":"${text.repeat(3)}","model":"${text}"}`);
  const whole = scanPieces(document, () => Infinity);
  ok(whole.model !== undefined);
  for (let first = 1; first < document.length; first++) {
    const sizes = [first];
    const cut = scanPieces(document, () => sizes.shift() ?? Infinity);
    deepEqual(cut, whole, `cut at ${first}`);
  }
});

Deno.test("JsonObjectScan keeps a watched value of up to 4096 bytes", () => {
  for (const [length, isKept] of [[4096, true], [4097, false]] as const) {
    const value = `"${"x".repeat(length - 2)}"`;
    const document = bytesOf(`{"model":${value},"a":1}`);
    for (const size of [1, 1000, Infinity]) {
      const { model } = scanPieces(document, () => size);
      deepEqual(model, {
        span: { start: 9, end: 9 + length },
        nameStart: 1,
        after: 0,
        text: isKept ? value : undefined,
      });
    }
  }
});

Deno.test("JsonObjectScan agrees with JSON.parse on random and on broken documents", () => {
  const seed = Number(Deno.env.get("JSON_SCAN_SEED") ?? Date.now() % 2 ** 31);
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round);
    const label = `JSON_SCAN_SEED=${seed}, round ${round}`;
    const document = bytesOf(randomJsonObject(random, { keys: KEYS }));
    assertAgrees(document, label);
    assertAgrees(mutateBytes(document, random), label);
  }
});

/** Checks that the scan accepts `bytes` exactly when the platform's decoder and parser do, with the same values. */
function assertAgrees(bytes: Uint8Array, label: string): void {
  const text = () => JSON.stringify(new TextDecoder("latin1").decode(bytes));
  const verdict = judgeJsonObject(bytes, KEYS);
  if (verdict.kind === "found") {
    let spans: unknown;
    try {
      spans = scanJsonObject(bytes, KEYS);
    } catch (error) {
      fail(`${label}: ${error} on ${text()}`);
    }
    deepEqual(spans, verdict.spans, label);
    return;
  }
  try {
    scanJsonObject(bytes, KEYS);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    if (verdict.kind === "refused") return;
    deepEqual([error.reason, error.key], ["duplicate_key", verdict.key], label);
    return;
  }
  fail(`${label}: accepted ${text()}`);
}
