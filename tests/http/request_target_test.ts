import assert from "node:assert/strict";
import {
  requestTarget,
  type TargetSource,
} from "../../src/http/request_target.ts";

function at(url: string, host?: string): TargetSource {
  return { url, headers: new Headers(host === undefined ? {} : { host }) };
}

Deno.test("requestTarget() takes path and query as they were written", () => {
  const cases = [
    ["http://gateway/v1/models", "/v1/models", ""],
    ["https://gateway:8787/v1/models?a=1&b", "/v1/models", "?a=1&b"],
    ["http://gateway/v1/../v1/%6dodels", "/v1/../v1/%6dodels", ""],
    ["http://gateway//v1//models/", "//v1//models/", ""],
    ["http://gateway/?", "/", "?"],
    ["http://gateway/?a?b#c", "/", "?a?b"],
    ["http://gateway/a#b?c", "/a", ""],
    ["http://gateway", "", ""],
    ["http://gateway?a", "", "?a"],
    ["http://[::1]:80/a", "/a", ""],
    ["HTTP://gateway/a", "/a", ""],
  ] as const;
  for (const [url, path, query] of cases) {
    assert.deepEqual(requestTarget(at(url)), { path, query }, url);
  }
});

Deno.test("requestTarget() bears a host that no URL can have, and what is no address", () => {
  assert.deepEqual(requestTarget(at("http://a b%zz:x:y/p?q")), {
    path: "/p",
    query: "?q",
  });
  for (const url of ["", "x", "http:/x", "//gateway/x"]) {
    assert.deepEqual(requestTarget(at(url)), { path: "", query: "" }, url);
  }
});

Deno.test("requestTarget() takes off a host in which a path stands", () => {
  const cases = [
    ["http://x/v1/models?/nope", "x/v1/models?", "/nope", ""],
    ["http://x/v1/models/nope?q", "x/v1/models", "/nope", "?q"],
    ["https://x#/a", "x#", "/a", ""],
    ["http://?/a?b", "?", "/a", "?b"],
  ] as const;
  for (const [url, host, path, query] of cases) {
    assert.deepEqual(requestTarget(at(url, host)), { path, query }, url);
  }
});

Deno.test("requestTarget() finds no path where a host with one does not stand before it", () => {
  const nothing = { path: "", query: "" };
  assert.deepEqual(requestTarget(at("http://a/v1/models", "x/y")), nothing);
  assert.deepEqual(requestTarget(at("*", "x/y")), nothing);
});
