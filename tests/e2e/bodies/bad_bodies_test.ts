import assert from "node:assert/strict";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

/**
 * Bodies that are not exactly one JSON object, or have an invalid `model` or `stream`, and the
 * invalid field.
 */
const REFUSED: Readonly<
  Record<
    string,
    readonly [body: string | Uint8Array<ArrayBuffer>, param?: string]
  >
> = {
  "nothing": [""],
  "spaces": ["  \n"],
  "no JSON": ["hello"],
  "a form": ["model=model-a&stream=true"],
  "an array": [`[{"model":"model-a"}]`],
  "a string": [`"model-a"`],
  "null": ["null"],
  "an object that does not end": [`{"model":"model-a"`],
  "a string that does not end": [`{"model":"model-a`],
  "two objects": [`{"model":"model-a"}{"model":"model-a"}`],
  "a comma too many": [`{"model":"model-a",}`],
  "a comment": [`{"model":"model-a"/**/}`],
  "a byte order mark": [`\ufeff{"model":"model-a"}`],
  "NaN": [`{"model":"model-a","temperature":NaN}`],
  "a raw line feed in a string": [`{"model":"model-a","x":"\n"}`],
  "bytes that are no UTF-8": [bytesOf(`{"model":"model-a","x":"\xff"}`)],
  "half a surrogate in bytes": [
    bytesOf(`{"model":"model-a","x":"\xed\xa0\x80"}`),
  ],
  "no model": [`{"stream":true}`, "model"],
  "an empty model": [`{"model":""}`, "model"],
  "a model that is null": [`{"model":null}`, "model"],
  "a model that is a number": [`{"model":1}`, "model"],
  "a model that is an object": [`{"model":{"id":"model-a"}}`, "model"],
  "a model of 1 MiB": [`{"model":"${"x".repeat(1024 * 1024)}"}`, "model"],
  "two models": [`{"model":"model-a","model":"model-a"}`, "model"],
  "two models, one in escapes": [
    `{"model":"model-a","mod\\u0065l":"model-b"}`,
    "model",
  ],
  "a stream that is a string": [
    `{"model":"model-a","stream":"true"}`,
    "stream",
  ],
  "a stream that is a number": [`{"model":"model-a","stream":1}`, "stream"],
  "two streams": [
    `{"model":"model-a","stream":true,"\\u0073tream":false}`,
    "stream",
  ],
};

function bytesOf(characters: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(characters, (one) => one.charCodeAt(0));
}

Deno.test("an ambiguous or invalid body is 400 in the path's protocol", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, [body, param]] of Object.entries(REFUSED)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const response = await gateway.call(
          PATHS[protocol],
          ask(protocol, body),
        );
        const error = await readError(response, protocol);
        assert.equal(error.status, 400);
        assert.equal(error.type, "invalid_request_error");
        if (protocol !== "messages") assert.equal(error.param, param ?? null);
        if (param !== undefined) assert.ok(error.message.includes(param));
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** Bodies that look dangerous, but which the upstream must judge. */
const PASSED: Readonly<Record<string, string>> = {
  "depth 100,000": `{"x":${"[".repeat(1e5)}${
    "]".repeat(1e5)
  },"model":"model-a"}`,
  "a model below the top": `{"x":{"model":"model-b"},"model":"model-a"}`,
  "other duplicate keys": `{"x":1,"x":2,"model":"model-a"}`,
  "__proto__": `{"__proto__":{"model":"model-b"},"model":"model-a"}`,
  "a number that no double holds": `{"x":1e400,"model":"model-a"}`,
  "lone surrogates in escapes": `{"x":"\\ud800","model":"model-a"}`,
  "another base URL": `{"base_url":"http://evil.example","model":"model-a"}`,
  "a stream that is null": `{"stream":null,"model":"model-a"}`,
  "100,000 keys": `{${
    Array.from({ length: 1e5 }, (_, index) => `"k${index}":0`).join()
  },"model":"model-a"}`,
};

Deno.test("unusual but valid bodies pass byte for byte", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, body] of Object.entries(PASSED)) {
    await t.step(name, async () => {
      const response = await gateway.call(PATHS.chat, ask("chat", body));
      await response.body?.cancel();
      assert.equal(response.status, 200);
      const seen = await upstream.requests.next();
      assert.ok(seen.text() === body);
      assert.equal(seen.path, "/a/chat/completions");
    });
  }
});

Deno.test("content types that are not JSON are 415", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const refused = [
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "json",
    "application/jsonl",
  ];
  for (const protocol of PROTOCOLS) {
    for (const type of refused) {
      await t.step(`${protocol}: ${type}`, async () => {
        const response = await gateway.call(
          PATHS[protocol],
          ask(protocol, hello(protocol), { "content-type": type }),
        );
        const error = await readError(response, protocol);
        assert.equal(error.status, 415);
        assert.equal(error.type, "invalid_request_error");
      });
    }
  }
  const accepted = [
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/vnd.api+json",
    "text/json",
  ];
  for (const type of accepted) {
    await t.step(type, async () => {
      const headers = { "content-type": type };
      const response = await gateway.call(
        PATHS.chat,
        ask("chat", hello("chat"), headers),
      );
      await response.body?.cancel();
      assert.equal(response.status, 200);
      const seen = await upstream.requests.next();
      assert.equal(seen.headers.get("content-type"), type);
    });
  }
});
