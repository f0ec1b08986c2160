import assert from "node:assert/strict";
import { requestTarget } from "../../src/http/request_target.ts";

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
    assert.deepEqual(requestTarget(url), { path, query }, url);
  }
});

Deno.test("requestTarget() bears a host that no URL can have, and what is no address", () => {
  assert.deepEqual(requestTarget("http://a b%zz:x:y/p?q"), {
    path: "/p",
    query: "?q",
  });
  for (const url of ["", "x", "http:/x", "//gateway/x"]) {
    assert.deepEqual(requestTarget(url), { path: "", query: "" }, url);
  }
});
