import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import {
  createRouteFinder,
  type RouteMatch,
} from "../../../src/gateway/http/router.ts";
import { requestTarget } from "../../../src/gateway/http/request_target.ts";
import { ROUTES } from "../../../src/gateway/http/routes.ts";

const finder = createRouteFinder(ROUTES);

async function find(
  method: string,
  target: string,
  vendor = "anthropic",
): Promise<RouteMatch> {
  const request = new Request("http://gateway/", { method });
  const url = `http://gateway${target}`;
  return await finder.find(
    Object.defineProperty(request, "url", { value: url }),
    vendor,
  );
}

async function refused(
  method: string,
  target: string,
  vendor?: string,
): Promise<GatewayError> {
  try {
    await find(method, target, vendor);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
  return assert.fail(`${method} ${target} was found`);
}

Deno.test("createRouteFinder() returns the pattern, never the requested path", async () => {
  assert.equal(
    (await find("GET", "/v1/models/secret")).path,
    "/v1/models/:id+",
  );
  const { path } = await find("POST", "/api/anthropic/v1/messages");
  assert.equal(path, "/api/:vendor/v1/messages");
});

Deno.test("createRouteFinder() uses everything after /models/ as the model's id", async () => {
  const cases = [
    ["/v1/models/glm-5.1", "glm-5.1"],
    ["/v1/models/org/model", "org/model"],
    ["/v1/models/org%2Fmodel", "org/model"],
    ["/v1/models/a%20b%3Fc", "a b?c"],
    ["/v1/models/m?query=1", "m"],
    ["/v1/models/%C3%A9", "é"],
    ["/v1/models/100%", "100%"],
    ["/v1/models/%zz", "%zz"],
    ["/v1/models/a//b", "a//b"],
    ["/v1/models/a:b@c+d*e", "a:b@c+d*e"],
  ] as const;
  for (const [target, id] of cases) {
    assert.equal((await find("GET", target)).id, id, target);
  }
  assert.equal((await find("GET", "/v1/models")).id, undefined);
});

Deno.test("createRouteFinder() matches paths exactly", async () => {
  const targets = [
    "/v1",
    "/v1/",
    "/v1/messages/",
    "/v1/messages//",
    "//v1/messages",
    "/v1//messages",
    "/V1/messages",
    "/v1/Messages",
    "/v1/%6dessages",
    "/v1/messages%2F",
    "/v1/messages/x",
    "/x/../v1/messages",
    "/x/%2e%2e/v1/messages",
    "/v1/./messages",
    "/v1\\messages",
    "/v2/messages",
    "/api/messages",
    "/api/anthropic/v1/chat/completions",
    "/api/anthropic/v1/messages/",
    "/api/coding/paas/v4/messages",
    "/messages",
    "",
    "/__proto__",
  ];
  for (const target of targets) {
    const error = await refused("POST", target);
    assert.equal(error.kind, "not_found", target);
  }
  for (const target of ["/v1/models/", "/v1/models/m/", "/v1/models//"]) {
    assert.equal((await refused("GET", target)).kind, "not_found", target);
  }
});

Deno.test("requestTarget() returns path and query as written", () => {
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
    assert.deepEqual(requestTarget({ url }), { path, query }, url);
  }
});

Deno.test("requestTarget() accepts an invalid host and an invalid address", () => {
  assert.deepEqual(requestTarget({ url: "http://a b%zz:x:y/p?q" }), {
    path: "/p",
    query: "?q",
  });
  for (const url of ["", "x", "http:/x", "//gateway/x"]) {
    assert.deepEqual(requestTarget({ url }), { path: "", query: "" }, url);
  }
});
