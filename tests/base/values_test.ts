import assert from "node:assert/strict";
import { readHeaders } from "../../src/base/header_fields.ts";
import { randomIds } from "../../src/base/ids.ts";
import {
  isDeepJson,
  isHeavyJson,
  isJsonObject,
  parseJson,
  parseLightJson,
  pickFields,
  present,
} from "../../src/base/json.ts";
import { OPERATIONS } from "../../src/base/protocol.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { uuidV5 } from "../../src/base/std.ts";
import { stringifyYaml } from "../../src/base/yaml.ts";
import { pipe, runStage, type Stage } from "../../src/base/stage.ts";
import { parseYaml } from "../support/yaml.ts";
import { type ErrorKind, GatewayError, shorten } from "../../src/base/error.ts";
import { publicAddress } from "../../src/base/public_address.ts";
import { retryAfterMs, saneWaitHeader } from "../../src/base/retry_after.ts";

Deno.test("readHeaders() returns the same values as the headers", () => {
  const headers = new Headers(
    [["X-B", "2"], ["x-a", "1"], ["x-b", "3"], ["x-empty", ""]],
  );
  const fields = readHeaders(headers);
  for (const name of ["x-a", "x-b", "x-empty", "x-c"]) {
    assert.equal(fields.get(name) ?? null, headers.get(name), name);
    assert.equal(fields.has(name), headers.has(name), name);
  }
  assert.deepEqual([...fields.keys()], ["x-a", "x-b", "x-empty"]);
  const seen: string[] = [];
  fields.forEach((value, name) => seen.push(`${name}: ${value}`));
  assert.deepEqual(seen, ["x-a: 1", "x-b: 2, 3", "x-empty: "]);
});

Deno.test("readHeaders() treats `__proto__` and `constructor` as ordinary names", () => {
  const fields = readHeaders(new Headers([["__proto__", "a"]]));
  assert.equal(fields.get("__proto__"), "a");
  assert.equal(fields.has("constructor"), false);
});

Deno.test("randomIds.next() returns the prefix and 32 hexadecimal digits", () => {
  assert.match(randomIds.next("req"), /^req_[0-9a-f]{32}$/);
});

Deno.test("randomIds.next() never returns the same id twice", () => {
  const ids = Array.from({ length: 1000 }, () => randomIds.next("req"));
  assert.equal(new Set(ids).size, ids.length);
});

Deno.test("parseJson() reads every kind of value", () => {
  assert.deepEqual(parseJson(' {"a":[1,"x",null,true]} '), {
    a: [1, "x", null, true],
  });
  assert.equal(parseJson("null"), null);
  assert.equal(parseJson('"x"'), "x");
});

Deno.test("parseJson() returns undefined for text that is not JSON", () => {
  for (
    const text of ["", "{", "{}x", "[DONE]", "NaN", "undefined", "\ufeff1"]
  ) {
    assert.equal(parseJson(text), undefined, text);
  }
});

Deno.test("parseJson() survives nesting of any depth", () => {
  const depth = 1_000_000;
  assert.doesNotThrow(() => parseJson("[".repeat(depth) + "]".repeat(depth)));
});

Deno.test("isDeepJson() counts levels of objects and arrays, and ignores brackets in strings", () => {
  const flat = '[[1],{"a":"[[[{{{\\"[[["},[],[],[]]';
  assert.equal(isDeepJson(flat, 2), false);
  assert.equal(isDeepJson(flat, 1), true);
  assert.equal(isDeepJson('{"a":{"a":[]}}', 2), true);
  assert.equal(isDeepJson("[".repeat(1_000_000), 1000), true);
});

Deno.test("isJsonObject() accepts only objects", () => {
  assert.ok(isJsonObject({}));
  assert.ok(isJsonObject({ a: 1 }));
  for (const value of [null, undefined, [], "x", 1, true]) {
    assert.ok(!isJsonObject(value), String(value));
  }
});

Deno.test("pickFields() keeps fields in their order, even the field `__proto__`", () => {
  const object = JSON.parse('{"b":1,"__proto__":{"x":1},"a":null,"c":2}');
  const picked = pickFields(
    object,
    (name, value) => name !== "b" && value !== null,
  );
  assert.equal(JSON.stringify(picked), '{"__proto__":{"x":1},"c":2}');
  assert.equal(Object.getPrototypeOf(picked), Object.prototype);
  assert.deepEqual(pickFields(object, () => false), {});
});

Deno.test("present() leaves out only fields without a value", () => {
  const object = { a: undefined, b: null, c: 0, d: "", e: false };
  assert.deepEqual(Object.keys(present(object)), ["b", "c", "d", "e"]);
});

/** Texts of `count` values, each in another form. */
const MANY: Readonly<Record<string, (count: number) => string>> = {
  elements: (count) => `[${"0,".repeat(count)}0]`,
  members: (count) =>
    `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join()}}`,
  arrays: (count) => `[${"[],".repeat(count / 2)}0]`,
  objects: (count) => `[${"{},".repeat(count / 2)}0]`,
  depth: (count) => "[".repeat(count) + "]".repeat(count),
  lines: (count) => "1\n".repeat(count),
};

Deno.test("isHeavyJson() returns true above 65,536 values of any kind", () => {
  for (const [kind, textOf] of Object.entries(MANY)) {
    assert.ok(isHeavyJson(textOf(70_000)), kind);
    assert.ok(!isHeavyJson(textOf(60_000)), kind);
  }
});

Deno.test("isHeavyJson() ignores commas and brackets within strings of any length", () => {
  for (const text of [",", "[{", '\\"', "\\\\", '\\",[', "\\n"]) {
    const long = `{"text":"${text.repeat(200_000)}"}`;
    assert.ok(!isHeavyJson(long), text);
    assert.notEqual(parseLightJson(long), undefined);
    assert.ok(isHeavyJson(`[${long},${MANY.elements?.(70_000)}]`), text);
  }
});

Deno.test("parseLightJson() parses only light JSON", () => {
  assert.deepEqual(parseLightJson('{"a":[1]}'), { a: [1] });
  assert.equal(parseLightJson("{"), undefined);
  for (const textOf of Object.values(MANY)) {
    assert.equal(parseLightJson(textOf(70_000)), undefined);
  }
});

Deno.test("OPERATIONS matches the endpoints in the documentation", () => {
  const rows = Object.entries(OPERATIONS).map(([operation, shape]) =>
    [operation, shape.endpoint, shape.path, shape.protocol].join(" ")
  );
  assert.deepEqual(rows, [
    "chat_completions chat /chat/completions chat",
    "completions completions /completions chat",
    "messages messages /messages messages",
    "count_tokens messages /messages/count_tokens messages",
    "responses responses /responses responses",
    "compact responses /responses/compact responses",
  ]);
});

Deno.test("sha256Hex() returns the digest of the FIPS 180 example", () => {
  assert.equal(
    sha256Hex("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

Deno.test("sha256Hex() hashes the UTF-8 bytes", async () => {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode("ключ 🔑"),
  );
  assert.equal(sha256Hex("ключ 🔑"), new Uint8Array(digest).toHex());
});

Deno.test("parseYaml() reads with the core schema on request", () => {
  assert.deepEqual(
    parseYaml("at: 2027-01-01\n<<: {a: 1}\n", { schema: "core" }),
    { at: "2027-01-01", "<<": { a: 1 } },
  );
});

Deno.test("parseYaml() throws a SyntaxError that names line and column", () => {
  assert.throws(() => parseYaml("a: [1\nb: 2"), (error) => {
    assert.ok(error instanceof SyntaxError);
    assert.match(error.message, /line \d+, column \d+/);
    return true;
  });
});

Deno.test("stringifyYaml() writes what parseYaml() reads", () => {
  const value = { tokens: [{ name: "a: b", connections: ["*"] }] };
  assert.deepEqual(parseYaml(stringifyYaml(value)), value);
});

Deno.test("uuidV5() matches the example of RFC 9562", async () => {
  const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  const data = new TextEncoder().encode("www.example.com");
  assert.equal(await uuidV5(dns, data), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
});

/** Emits every input `times` times, and `last` at the end. */
function repeat<In>(times: number, last: In): Stage<In, In> {
  return {
    push(input, emit) {
      for (let count = 0; count < times; count++) emit(input);
    },
    end: (emit) => emit(last),
  };
}

Deno.test("runStage() returns a stage's outputs for the inputs and for the end", () => {
  const outputs = runStage(repeat(2, "end"), ["a", "b"]);
  assert.deepEqual(outputs, ["a", "a", "b", "b", "end"]);
});

Deno.test("pipe() forwards each output at once, and ends the first stage before the second", () => {
  const stage = pipe(repeat(1, "first"), repeat(2, "second"));
  const outputs = runStage(stage, ["a"]);
  assert.deepEqual(outputs, ["a", "a", "first", "first", "second"]);
});

Deno.test("pipe() calls the sink that was passed with each input", () => {
  const stage = pipe(repeat(1, "-"), repeat(1, "-"));
  const one: string[] = [];
  const two: string[] = [];
  stage.push("a", (text) => one.push(text));
  stage.push("b", (text) => two.push(text));
  assert.deepEqual([one, two], [["a"], ["b"]]);
});

/** The table of docs/design.md#errors. */
const STATUSES: readonly (readonly [ErrorKind, number])[] = [
  ["invalid_request", 400],
  ["unauthenticated", 401],
  ["forbidden", 403],
  ["not_found", 404],
  ["method_not_allowed", 405],
  ["body_timeout", 408],
  ["body_too_large", 413],
  ["unsupported_media_type", 415],
  ["upgrade_required", 426],
  ["rate_limited", 429],
  ["internal", 500],
  ["upstream", 502],
  ["overloaded", 503],
  ["timeout", 504],
];

Deno.test("GatewayError has the status of its kind", () => {
  for (const [kind, status] of STATUSES) {
    assert.equal(new GatewayError(kind, "Cannot").status, status, kind);
  }
});

Deno.test("GatewayError has the values of its options", () => {
  const options = {
    param: "model",
    type: "own_type",
    code: "model_not_found",
    details: { error_code: "x" },
    headers: { "retry-after": "1" },
    cause: new Error("why"),
  };
  const error = new GatewayError("not_found", "Cannot find it", options);
  assert.ok(error instanceof Error);
  assert.equal(error.name, "GatewayError");
  assert.equal(error.message, "Cannot find it");
  const { param, type, code, details, headers, cause } = error;
  assert.deepEqual({ param, type, code, details, headers, cause }, options);
});

Deno.test("GatewayError without options has empty headers and no other values", () => {
  const error = new GatewayError("internal", "Cannot");
  const { param, type, code, details, headers, cause } = error;
  for (const value of [param, type, code, details, cause]) {
    assert.equal(value, undefined);
  }
  assert.deepEqual(headers, {});
});

Deno.test("GatewayError stays short even when it quotes a long text", () => {
  const { message, param } = new GatewayError(
    "invalid_request",
    "x".repeat(100_000),
    { param: "y".repeat(100_000) },
  );
  assert.equal(message.length, 2001);
  assert.equal(param?.length, 201);
});

Deno.test("shorten() cuts only a text over the length, adds an ellipsis, and replaces half a character", () => {
  const cases = [["", ""], ["abc", "abc"], ["abcd", "abc…"], [
    "ab😀",
    "ab\ufffd…",
  ]];
  for (const [text = "", short] of cases) assert.equal(shorten(text, 3), short);
});

const URL_OF_REQUEST = "http://gateway:8787/v1/chat/completions";

function addressFor(
  headers: Readonly<Record<string, string>>,
  url = URL_OF_REQUEST,
): string | undefined {
  return publicAddress({ url, headers: new Headers(headers) });
}

Deno.test("publicAddress() returns the address of the first proxy, else of the request", () => {
  const models = { host: "models.example" };
  const addresses: readonly [Record<string, string>, string][] = [
    [{}, "http://gateway:8787"],
    [{ host: "10.0.0.7:8787" }, "http://10.0.0.7:8787"],
    [{ host: "[2001:db8::1]:8787" }, "http://[2001:db8::1]:8787"],
    [{ host: "model_gateway:8787" }, "http://model_gateway:8787"],
    [{ ...models, "x-forwarded-proto": "https" }, "https://models.example"],
    [
      {
        host: "inner",
        "x-forwarded-host": "Models.example:8443, inner",
        "x-forwarded-proto": "https, http",
      },
      "https://models.example:8443",
    ],
  ];
  for (const [headers, expected] of addresses) {
    assert.equal(addressFor(headers), expected);
  }
  const secure = addressFor(models, "https://models.example/v1/usage");
  assert.equal(secure, "https://models.example");
});

Deno.test("publicAddress() accepts only http and https with a host name or an IP address", () => {
  const words =
    "evil.example/path evil.example?x evil.example#x user@evil.example user:pass@evil.example " +
    "a\"b a'b a(b) a!b a;b a`b` a${b} a*b a&b a:b a:99999 a: <script> \\evil";
  const long = `${"a".repeat(300)}.example`;
  const hosts = ["", "a b", long, ...words.split(" ")];
  for (const name of ["host", "x-forwarded-host"]) {
    for (const host of hosts) {
      assert.equal(addressFor({ [name]: host }), undefined, `${name}: ${host}`);
    }
  }
  for (const proto of ["", "javascript", "file", "ws", "https://evil/?"]) {
    assert.equal(addressFor({ "x-forwarded-proto": proto }), undefined, proto);
  }
});

const NOW_MS = Date.UTC(2026, 0, 1);

Deno.test("retryAfterMs() reads milliseconds, seconds and dates", () => {
  const cases: readonly [Record<string, string>, number | undefined][] = [
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250", "retry-after": "3" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "-1" }, undefined],
    [{ "retry-after": "Thursday, 01-Jan-26 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Thu Jan  1 00:00:30 2026 GMT" }, 30_000],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "in 5" }, undefined],
    [{ "retry-after": "1e3" }, undefined],
    [{ "retry-after": "1e30" }, undefined],
    [{ "retry-after": "Infinity" }, undefined],
    [{ "retry-after": "NaN" }, undefined],
    [{ "retry-after": "5, 7" }, undefined],
    [{ "retry-after-ms": "-1" }, undefined],
    [{ "retry-after": "2592000" }, 2_592_000_000],
    [{ "retry-after": "3024000" }, 3_024_000_000],
    [{ "retry-after": "3024001" }, undefined],
    [{ "retry-after-ms": "3024000000" }, 3_024_000_000],
    [{ "retry-after-ms": "3024000001" }, undefined],
    [{ "retry-after-ms": "3024000001", "retry-after": "3" }, 3000],
    [{ "retry-after": "9".repeat(30) }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after-ms": "9".repeat(30) }, undefined],
    [{ "retry-after-ms": "Thu, 01 Jan 2026 00:00:30 GMT" }, undefined],
    [{ "retry-after": "Sat, 31 Jan 2026 00:00:00 GMT" }, 2_592_000_000],
    [{ "retry-after": "Thu, 05 Feb 2026 00:00:00 GMT" }, 3_024_000_000],
    [{ "retry-after": "Thu, 05 Feb 2026 00:00:01 GMT" }, undefined],
    [{ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, undefined],
    [{ "retry-after": "Thu Jan  1 00:00:30 2026" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 +0000" }, 30_000],
    [{ "retry-after": "Monkeys of 2026" }, undefined],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT, 5" }, undefined],
    [{ "retry-after": "Fri, 99 Dec 9999 23:59:59 GMT" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after-ms": "" }, undefined],
    [{}, undefined],
  ];
  for (const [headers, expected] of cases) {
    assert.equal(
      retryAfterMs(new Headers(headers), NOW_MS),
      expected,
      JSON.stringify(headers),
    );
  }
});

Deno.test("saneWaitHeader() forwards a plausible wait that fits a timer, and shortens or drops any other wait", () => {
  const inSeconds = (value: string) =>
    saneWaitHeader("retry-after", value, NOW_MS);
  const [soon, past] = ["01 Jan 2026 00:00:30", "01 Jan 1970 00:00:00"]
    .map((time) => `Thu, ${time} GMT`);
  for (const value of ["0", "0.5", "17", "2147482", `${soon}`, `${past}`]) {
    assert.equal(inSeconds(value), value);
  }
  const long = [
    "2147484",
    "2592000",
    "3024000",
    "Sat, 31 Jan 2026 00:00:00 GMT",
  ];
  for (const value of long) assert.equal(inSeconds(value), "2147483", value);
  const numbers = ["3024001", "9".repeat(30), "9".repeat(400), "1e30", "-1"];
  const dates = ["Thu, 05 Feb 2026 00:00:01 GMT", "Fri, 31 Dec 9999"];
  const words = ["Infinity", "NaN", "soon", "", "5, 7", "0x10"];
  for (
    const value of [...numbers, ...dates, `${dates[1]} 23:59:59 GMT`, ...words]
  ) {
    assert.equal(inSeconds(value), undefined, value);
  }
  const inMs = (value: string) =>
    saneWaitHeader("retry-after-ms", value, NOW_MS);
  assert.equal(inMs("16500"), "16500");
  assert.equal(inMs("2147483001"), "2147483000");
  assert.equal(inMs("3024000001"), undefined);
  assert.equal(inMs("Thu, 01 Jan 2026 00:00:30 GMT"), undefined);
});
