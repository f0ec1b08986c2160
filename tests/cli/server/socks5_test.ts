import assert from "node:assert/strict";
import { createDial } from "../../../src/cli/server/dial.ts";
import { readProxies } from "../../../src/cli/server/proxy_route.ts";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import { unanswered } from "../../../src/upstream/failure.ts";
import { createHttp1Client } from "../../../src/upstream/http1/client.ts";
import { Http1Failure } from "../../../src/upstream/http1/failure.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { bodyOf } from "../../upstream/http1/examine.ts";

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

Deno.test("a SOCKS proxy gets names, IPv4 and IPv6 addresses as they are, and carries TLS", async () => {
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

Deno.test("any kind of bound address in a SOCKS reply is read, and not a byte more", async () => {
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

Deno.test("each refusal of a SOCKS proxy is a failure to connect with a reason of its own, and without the address", async (t) => {
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

Deno.test("a name that is too long for SOCKS, and a server that is no SOCKS proxy, are failures to connect", async () => {
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

Deno.test("a connection to a SOCKS proxy that falls silent at any step closes at the connect timeout and when the caller leaves", async (t) => {
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
