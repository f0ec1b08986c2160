import { createDial } from "../../../src/http1/deno/dial.ts";
import {
  type ProxyRoute,
  readProxies,
} from "../../../src/http1/deno/proxy_route.ts";
import {
  addressOf,
  createHttp1Client,
} from "../../../src/http1/client/client.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { unanswered } from "../../../src/gateway/upstream/failure.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { bodyOf } from "../client/examine.ts";

const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CONNECT_MS = 5000;

/** A client behind a proxy, with a clock that stands still. */
function openBehind(proxy: string) {
  const timers = createFakeTimers();
  const client = createHttp1Client({
    dial: createDial(
      readProxies((name) => name === "ALL_PROXY" ? proxy : undefined),
      [testCertificate.cert],
    ),
    deadlines: createDeadlines(timers),
  });
  return {
    timers,
    send: (url: string, signal = new AbortController().signal) => {
      const body = new Uint8Array(3);
      const request = { url, headers: [], body, connectMs: CONNECT_MS, signal };
      return within(client.send(request), "the response");
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** The sentence that a caller reads when a request fails. */
async function sentenceOf(work: Promise<unknown>): Promise<string> {
  const failure = await work.then(() => undefined, (cause) => cause);
  assert.ok(failure instanceof Http1Failure, String(failure));
  assert.equal(failure.kind, "connect");
  return unanswered(failure).message;
}

Deno.test("a SOCKS proxy gets names, IPv4 and IPv6 addresses unresolved, and carries TLS", async () => {
  await using plain = startRawUpstream((connection) => say(connection, ANSWER));
  await using secure = startRawUpstream(
    (connection) => say(connection, ANSWER),
    testCertificate,
  );
  const cases = [
    [plain, "http://provider.example/v1", [3, "provider.example", 80]],
    [plain, "http://10.1.2.3:8000/v1", [1, "10.1.2.3", 8000]],
    [plain, "http://[fd00::102:3]/", [
      ...[4, "253.0.0.0.0.0.0.0.0.0.0.0.1.2.0.3", 80],
    ]],
    [plain, "http://[::]:81/", [4, new Array(16).fill(0).join("."), 81]],
    [secure, "https://localhost/v1", [3, "localhost", 443]],
    [secure, "https://127.0.0.1:65000/v1", [1, "127.0.0.1", 65_000]],
  ] as const;
  for (const [upstream, url, [kind, address, port]] of cases) {
    const tunnelTo = Number(new URL(upstream.url).port);
    await using proxy = startSocksProxy({ tunnelTo });
    using client = openBehind(`socks5h://127.0.0.1:${proxy.port}`);
    assert.equal(await bodyOf(await client.send(url)), "ok", url);
    const expected = { methods: [0], kind, address, port };
    assert.deepEqual(proxy.requests, [expected], url);
  }
});

Deno.test("a SOCKS proxy gets the credentials of its address when it requests them", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(connection, ANSWER)
  );
  const tunnelTo = Number(new URL(upstream.url).port);
  await using proxy = startSocksProxy({ tunnelTo, wants: "me:s@cré" });
  const place = `127.0.0.1:${proxy.port}`;
  {
    using client = openBehind(`socks5://me:s%40cr%C3%A9@${place}`);
    assert.equal(await bodyOf(await client.send("http://a.example/")), "ok");
    assert.equal(proxy.requests[0]?.credentials, "me:s@cré");
    assert.deepEqual(proxy.requests[0]?.methods, [0, 2]);
  }
  using stranger = openBehind(`socks5://me:wrong@${place}`);
  assert.match(
    await sentenceOf(stranger.send("http://a.example/")),
    /provider: the proxy did not accept the credentials\. /,
  );
  using nobody = openBehind(`socks5://${place}`);
  assert.match(
    await sentenceOf(nobody.send("http://a.example/")),
    /provider: the proxy wants credentials\. /,
  );
});

Deno.test("a SOCKS reply is read exactly to its end, with any kind of bound address", async () => {
  const replies = [
    [5, 0, 0, 1, 1, 2, 3, 4, 0, 80],
    [5, 0, 0, 4, ...new Array<number>(16).fill(1), 0, 80],
    [5, 0, 0, 3, 4, 110, 97, 109, 101, 0, 80],
    [5, 0, 0, 3, 0, 0, 80],
  ];
  await using upstream = startRawUpstream((connection) =>
    say(connection, ANSWER)
  );
  const tunnelTo = Number(new URL(upstream.url).port);
  for (const reply of replies) {
    await using proxy = startSocksProxy({ tunnelTo, reply });
    using client = openBehind(`socks5://127.0.0.1:${proxy.port}`);
    assert.equal(await bodyOf(await client.send("http://a.example/")), "ok");
  }
});

Deno.test("each refusal of a SOCKS proxy is a failure to connect with its own reason, without the address", async (t) => {
  const refused = (code: number) => [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
  const refusals: readonly (readonly [reply: readonly number[], RegExp])[] = [
    [refused(1), /: the proxy failed\. /],
    [refused(2), /: the proxy's rules do not allow it\. /],
    [refused(3), /: its network is unreachable for the proxy\. /],
    [refused(4), /: its host is unreachable for the proxy\. /],
    [refused(5), /: it refused the proxy's connection\. /],
    [refused(6), /: the proxy's connection to it timed out\. /],
    [refused(7), /: the proxy opens no connections\. /],
    [refused(8), /: the proxy does not know this kind of address\. /],
    [refused(99), /: the proxy did not connect to it\. /],
    [[5, 0, 0, 7, 1, 2, 3, 4], /: the proxy does not speak SOCKS5\. /],
    [[4, 0, 0, 1, 1, 2, 3, 4], /: the proxy does not speak SOCKS5\. /],
    [[5, 0, 0], /: the proxy closed the connection\. /],
    [[], /: the proxy closed the connection\. /],
  ];
  for (const [reply, sentence] of refusals) {
    await t.step(reply.join(" "), async () => {
      await using proxy = startSocksProxy({ reply });
      using client = openBehind(`socks5://127.0.0.1:${proxy.port}`);
      const read = await sentenceOf(client.send("https://localhost:1/"));
      assert.match(read, sentence);
      assert.doesNotMatch(read, /localhost|127\.0\.0\.1/);
      assert.equal(proxy.requests.length, 1);
    });
  }
});

Deno.test("a name that is too long for SOCKS and a server that is not a SOCKS proxy cause a failure to connect", async () => {
  await using proxy = startSocksProxy({});
  using client = openBehind(`socks5://127.0.0.1:${proxy.port}`);
  assert.match(
    await sentenceOf(client.send(`http://${"a.".repeat(130)}example/`)),
    /: its host name is too long for the proxy\. /,
  );
  for (const method of [1, 2, 0xff]) {
    await using other = startSocksProxy({ method });
    using client = openBehind(`socks5://127.0.0.1:${other.port}`);
    assert.match(
      await sentenceOf(client.send("http://a.example/")),
      /: the proxy wants credentials\. /,
    );
  }
  await using web = startRawUpstream((connection) => say(connection, ANSWER));
  using lost = openBehind(web.url.replace("http", "socks5"));
  assert.match(
    await sentenceOf(lost.send("http://a.example/")),
    /: the proxy does not speak SOCKS5\. /,
  );
});

Deno.test("a connection to a silent SOCKS proxy closes at the connect timeout or when the caller leaves, at any step", async (t) => {
  const steps: Readonly<Record<string, readonly number[]>> = {
    "before it chose a method": [],
    "after it chose a method": [5, 0],
    "in its reply": [5, 0, 5, 0, 0, 1, 127],
  };
  for (const [name, said] of Object.entries(steps)) {
    for (const leaves of [true, false]) {
      await t.step(`${name}, ${leaves ? "aborted" : "late"}`, async () => {
        const heard = Promise.withResolvers<void>();
        const closed = Promise.withResolvers<void>();
        await using proxy = startSocksProxy({
          async talk(connection) {
            await connection.read(new Uint8Array(1));
            await connection.write(Uint8Array.from(said));
            heard.resolve();
            await listenToEnd(connection).catch(() => {});
            closed.resolve();
          },
        });
        using client = openBehind(`socks5://127.0.0.1:${proxy.port}`);
        const leaving = new AbortController();
        const failing = sentenceOf(
          client.send("https://a.example/", leaving.signal),
        );
        await within(heard.promise, "the proxy to be asked");
        if (leaves) leaving.abort(new Error("gone"));
        else client.timers.advance(CONNECT_MS);
        const sentence = await failing;
        if (!leaves) assert.match(sentence, /: the connection timed out\. /);
        await within(closed.promise, "the connection to be closed");
      });
    }
  }
});

/** Returns the route to an address with these variables. */
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

Deno.test("each scheme has its variable, in upper or lower case, and ALL_PROXY applies to both", () => {
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

Deno.test("a proxy may speak HTTP over TLS or SOCKS5", () => {
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

Deno.test("an invalid proxy address never means a direct connection", () => {
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
