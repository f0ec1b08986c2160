import assert from "node:assert/strict";
import {
  type ProxyRoute,
  readProxies,
} from "../../../src/cli/server/proxy_route.ts";
import { addressOf } from "../../../src/upstream/http1/client.ts";

/** Finds the way to an address under these variables. */
function routeTo(
  url: string,
  variables: Readonly<Record<string, string>>,
): ProxyRoute {
  return readProxies((name) => variables[name])(addressOf(url).origin);
}

const DIRECT = { kind: "direct" } as const;
const INVALID = { kind: "invalid" } as const;

function via(hostname: string, port: number, credentials?: string): ProxyRoute {
  const headers = credentials === undefined
    ? []
    : [["proxy-authorization", `Basic ${credentials}`] as const];
  return { kind: "proxy", proxy: { hostname, port, isSecure: false, headers } };
}

Deno.test("each scheme has its variable, in upper or lower case, and ALL_PROXY is for both", () => {
  const plain = "http://a.example/";
  const secure = "https://a.example/";
  const proxy = "http://p:3128";
  const p = via("p", 3128);
  assert.deepEqual(routeTo(plain, {}), DIRECT);
  assert.deepEqual(routeTo(plain, { HTTP_PROXY: proxy }), p);
  assert.deepEqual(routeTo(secure, { HTTP_PROXY: proxy }), DIRECT);
  assert.deepEqual(routeTo(secure, { HTTPS_PROXY: proxy }), p);
  assert.deepEqual(routeTo(plain, { HTTPS_PROXY: proxy }), DIRECT);
  assert.deepEqual(routeTo(plain, { http_proxy: proxy }), p);
  assert.deepEqual(routeTo(plain, { ALL_PROXY: proxy }), p);
  assert.deepEqual(routeTo(secure, { all_proxy: proxy }), p);
  const both = { HTTPS_PROXY: "http://q:1", ALL_PROXY: proxy };
  assert.deepEqual(routeTo(secure, both), via("q", 1));
  const empty = { HTTP_PROXY: "", http_proxy: "", ALL_PROXY: "" };
  assert.deepEqual(routeTo(plain, empty), DIRECT);
});

Deno.test("the address of a proxy may lack its scheme and port, and may have credentials", () => {
  const proxies: Readonly<Record<string, ProxyRoute>> = {
    "p:3128": via("p", 3128),
    "p": via("p", 80),
    "http://p/": via("p", 80),
    "http://[::1]:3128": via("::1", 3128),
    "http://me:secret@p:1": via("p", 1, btoa("me:secret")),
    "http://me@p:1": via("p", 1, btoa("me:")),
    "http://m%40e:s%3Ax%25@p:1": via("p", 1, btoa("m@e:s:x%")),
    "http://%C3%A9:x@p:1": via("p", 1, btoa("\xc3\xa9:x")),
    "http://100%:50%zz@p:1": via("p", 1, btoa("100%:50%zz")),
  };
  for (const [address, route] of Object.entries(proxies)) {
    const found = routeTo("http://a.example/", { HTTP_PROXY: address });
    assert.deepEqual(found, route, address);
  }
});

Deno.test("the address of a proxy may be of HTTP over TLS or of SOCKS5", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const socks = (port: number) =>
    ({ kind: "socks", proxy: { hostname: "p", port } }) as const;
  const credentials = [bytes("é:"), bytes("")] as const;
  const proxies: Readonly<Record<string, ProxyRoute>> = {
    "https://p": {
      kind: "proxy",
      proxy: { hostname: "p", port: 443, isSecure: true, headers: [] },
    },
    "socks5://p": socks(1080),
    "socks5h://p:9050/": socks(9050),
    "SOCKS5://p:80": socks(80),
    "socks5://[::1]:9050": {
      kind: "socks",
      proxy: { hostname: "::1", port: 9050 },
    },
    "socks5://%C3%A9%3A@p:1": {
      kind: "socks",
      proxy: { hostname: "p", port: 1, credentials },
    },
  };
  for (const [address, route] of Object.entries(proxies)) {
    const found = routeTo("https://a.example/", { ALL_PROXY: address });
    assert.deepEqual(found, route, address);
  }
});

Deno.test("an invalid proxy address never counts as no proxy", () => {
  const proxies = [
    ...["http://", "http://:1", "socks5://", "socks4://p", "ftp://p", "p:x"],
    `socks5://${"u".repeat(256)}@p`,
    `socks5://u:${"p".repeat(256)}@p`,
  ];
  for (const address of proxies) {
    const found = routeTo("https://a.example/", { HTTPS_PROXY: address });
    assert.deepEqual(found, INVALID, address);
    const direct = { HTTPS_PROXY: address, NO_PROXY: "*" };
    assert.deepEqual(routeTo("https://a.example/", direct), DIRECT, address);
  }
});

Deno.test("NO_PROXY names hosts, their subdomains, addresses, networks and ports", () => {
  const direct: readonly (readonly [list: string, url: string])[] = [
    ["*", "http://a.example/"],
    ["a.example", "http://a.example/"],
    ["a.example", "http://b.a.example/"],
    [".a.example", "http://b.a.example/"],
    [".a.example", "http://a.example/"],
    ["*.a.example", "http://b.a.example/"],
    ["A.Example", "http://a.EXAMPLE/"],
    ["a.example", "http://a.example./"],
    ["b.example, a.example ,,", "http://a.example/"],
    ["a.example:8080", "http://a.example:8080/"],
    ["a.example:443", "https://a.example/"],
    ["localhost", "http://localhost:8080/"],
    ["127.0.0.1", "http://127.0.0.1:8080/"],
    ["127.0.0.1:8080", "http://127.0.0.1:8080/"],
    ["10.0.0.0/8", "http://10.1.2.3/"],
    ["192.168.1.0/24", "http://192.168.1.255/"],
    ["10.1.2.3/32", "http://10.1.2.3/"],
    ["0.0.0.0/0", "http://10.1.2.3/"],
    ["::1", "http://[::1]:8080/"],
    ["[::1]", "http://[::1]/"],
    ["[::1]:8080", "http://[::1]:8080/"],
    ["fd00::/8", "http://[fd00::1]/"],
    ["0:0:0:0:0:0:0:1", "http://[::1]/"],
    ["[0:0:0:0:0:0:0:1]:80", "http://[::1]/"],
    ["[FD00::0:1]", "http://[fd00::1]/"],
    ["a.example.", "http://b.a.example/"],
    ["a.example.:80", "http://a.example/"],
  ];
  for (const [list, url] of direct) {
    const variables = { ALL_PROXY: "http://p:1", NO_PROXY: list };
    assert.deepEqual(routeTo(url, variables), DIRECT, `${list} for ${url}`);
  }
  const proxied: readonly (readonly [list: string, url: string])[] = [
    ["", "http://a.example/"],
    ["a.example", "http://ba.example/"],
    ["a.example", "http://a.example.org/"],
    ["b.a.example", "http://a.example/"],
    ["a.example:8080", "http://a.example/"],
    ["127.0.0.1", "http://127.0.0.11/"],
    ["0.0.1", "http://127.0.0.1/"],
    ["10.0.0.0/8", "http://11.0.0.1/"],
    ["10.0.0.0/33", "http://10.0.0.1/"],
    ["10.0.0.0/8", "http://10.example/"],
    ["::1", "http://[::2]/"],
    ["a.example/8", "http://a.example/"],
    [".", "http://a.example/"],
    ["..", "http://a.example/"],
    ["[::1]:81", "http://[::1]/"],
    ["[a.example]", "http://a.example/"],
    [",", "http://a.example/"],
  ];
  for (const [list, url] of proxied) {
    const variables = { ALL_PROXY: "http://p:1", NO_PROXY: list };
    assert.deepEqual(routeTo(url, variables), via("p", 1), `${list}: ${url}`);
  }
  const lower = { ALL_PROXY: "http://p:1", no_proxy: "*" };
  assert.deepEqual(routeTo("http://a.example/", lower), DIRECT);
});
