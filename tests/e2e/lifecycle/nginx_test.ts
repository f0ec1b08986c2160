import assert from "node:assert/strict";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { ask, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import { connectRaw, type RawSocket } from "../../support/wire/raw_socket.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { serveFile } from "../../support/gateway/serve.ts";
import { within } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { freePort } from "../../support/program/free_port.ts";
import { steps } from "../../support/steps.ts";

const site = await Deno.readTextFile(
  new URL("../../../packaging/nginx.conf", import.meta.url),
);

/** Returns the site of packaging/ with other ports and short timeouts. */
function siteOf(gatewayPort: number, port: number): string {
  return site.replace(/\b8787\b/g, `${gatewayPort}`)
    .replace(/^ *server 127\.0\.0\.1:8788.*\n/m, "")
    .replace(/\b8080\b/g, `${port}`)
    .replace(
      /^( *(?:client_header_timeout|client_body_timeout|keepalive_timeout)) .*;$/gm,
      "$1 1s;",
    );
}

const ignore = !await hasNginx();

const named = (name: string) =>
  ignore ? `${name} (ignored: there is no nginx here)` : name;

const HEAD = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n" +
  "content-type: application/json\r\n";

/** Requests of a caller that then stays silent. */
const SILENT: Readonly<Record<string, string>> = {
  "a socket that says nothing": "",
  "half a header": "POST /v1/chat/compl",
  "half a body": `${HEAD}content-length: 100\r\n\r\n{"model":`,
  "a connection that is kept alive": "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n",
};

Deno.test({
  name: named(
    "the documentation's nginx closes what a silent caller leaves open",
  ),
  ignore,
  async fn(t) {
    await using gateway = await startGateway(
      familiesFile("http://127.0.0.1:9"),
    );
    const port = freePort();
    await using _ = await startNginx(siteOf(gateway.port, port), port);
    await steps(t, Object.entries(SILENT), async ([, text]) => {
      using socket = await connectRaw(port);
      await socket.write(text);
      await socket.readAll();
    });
  },
});

Deno.test({
  name: named(
    "the documentation's nginx keeps one address from taking every connection",
  ),
  ignore,
  async fn() {
    await using gateway = await startGateway(
      familiesFile("http://127.0.0.1:9"),
    );
    const port = freePort();
    const site = siteOf(gateway.port, port).replace(
      /limit_conn by_address \d+;/,
      "limit_conn by_address 2;",
    );
    assert.match(site, /limit_conn by_address 2;/);
    await using _ = await startNginx(site, port);
    const held = [await connectRaw(port), await connectRaw(port)];
    try {
      for (const socket of held) {
        await socket.write(`${HEAD}content-length: 100\r\n\r\n{`);
      }
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      await within(
        (async () => {
          for (;;) {
            const answer = await fetch(`http://127.0.0.1:${port}/livez`, {
              client,
            });
            if (answer.status !== 429) {
              await answer.body?.cancel();
              continue;
            }
            const error = await readError(answer, "chat");
            assert.equal(error.type, "rate_limit_error");
            assert.equal(error.headers.get("retry-after"), "2");
            return;
          }
        })(),
        "nginx to turn a third connection away",
      );
    } finally {
      for (const socket of held) socket[Symbol.dispose]();
    }
  },
});

/** The paths of the protocols, and a path of no protocol. */
const ERROR_PATHS: readonly (readonly [path: string, protocol: Protocol])[] = [
  ...PROTOCOLS.map((protocol) => [PATHS[protocol], protocol] as const),
  ["/api/anthropic/v1/messages?beta=true", "messages"],
  ["/v1/models", "chat"],
];

Deno.test({
  name: named(
    "the errors of the documentation's nginx have the form of the caller's protocol",
  ),
  ignore,
  async fn(t) {
    const port = freePort();
    await using _ = await startNginx(siteOf(freePort(), port), port);
    const expected: readonly (readonly [number, number, RegExp])[] = [
      [34 * 1024 ** 2, 413, /^Cannot take the request: its body is longer/],
      [2, 502, /^Cannot reach the gateway\./],
    ];
    await steps(t, ERROR_PATHS, async ([path, protocol]) => {
      for (const [length, status, message] of expected) {
        using socket = await connectRaw(port);
        await socket.write(
          `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n{}`,
        );
        const error = errorAnswer(await socket.answer(), protocol);
        assert.equal(error.status, status);
        assert.match(error.message, message);
      }
    });
  },
});

Deno.test({
  name: named("the documentation's nginx passes a cut on"),
  ignore,
  async fn() {
    const { start, output } = WIRES.chat;
    await using upstream = startUpstream(() =>
      new Response(start + output, { headers: SSE_HEADERS })
    );
    await using gateway = await startGateway(familiesFile(upstream.url));
    const port = freePort();
    await using nginx = await startNginx(siteOf(gateway.port, port), port);
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(nginx.url + PATHS.chat, {
      ...ask("chat"),
      client,
    });
    const read = await within(readToEnd(response.body), "the stream to end");
    assert.equal(read.text, start + output);
    assert.equal(read.isCut, true);
  },
});

Deno.test({
  name: named(
    "300 silent sockets keep nobody out of a gateway of 256 descriptors behind nginx",
  ),
  ignore,
  async fn() {
    await using gateway = await serveFile(
      familiesFile("http://127.0.0.1:9", { server: { port: 0 } }),
      { maxDescriptors: 256 },
    );
    const port = freePort();
    const site = siteOf(Number(new URL(gateway.url).port), port);
    await using nginx = await startNginx(site, port);
    const silent: RawSocket[] = [];
    try {
      while (silent.length < 300) silent.push(await connectRaw(port));
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const asking = fetch(`${nginx.url}/livez`, { client });
      const answer = await within(asking, "the gateway to answer");
      assert.equal(answer.status, 200);
      await answer.body?.cancel();
      assert.deepEqual(gateway.lines("listener_lost"), []);
    } finally {
      for (const socket of silent) socket[Symbol.dispose]();
    }
  },
});

const TLS_FOLDER = new URL("../../fixtures/tls/", import.meta.url);

Deno.test({
  name: named(
    "the site with TLS keeps each session on one of two replicas, and passes a cut on",
  ),
  ignore,
  async fn() {
    const { start, output, end } = WIRES.chat;
    let rest = end;
    await using upstream = startUpstream(({ path }) =>
      new Response(`: ${path}\n\n${start}${output}${rest}`, {
        headers: SSE_HEADERS,
      })
    );
    await using first = await startGateway(
      familiesFile(`${upstream.url}/first`),
    );
    await using second = await startGateway(
      familiesFile(`${upstream.url}/second`),
    );
    const port = freePort();
    const site = (await Deno.readTextFile(
      new URL("../../../packaging/nginx-tls.conf", import.meta.url),
    )).replace("8787", `${first.port}`).replace("8788", `${second.port}`)
      .replace("listen 443", `listen ${port}`)
      .replaceAll("/etc/nginx/gateway/", fromFileUrl(TLS_FOLDER));
    await using _ = await startNginx(site, port);
    using client = Deno.createHttpClient({
      caCerts: [testCertificate.cert],
      poolMaxIdlePerHost: 0,
    });
    const answerTo = async (session: string) => {
      const headers = { "x-claude-code-session-id": session };
      const response = await fetch(`https://127.0.0.1:${port}${PATHS.chat}`, {
        ...ask("chat", undefined, headers),
        client,
      });
      return await within(readToEnd(response.body), "the stream to end");
    };
    const replicaOf = async (session: string) => {
      const { text, isCut } = await answerTo(session);
      assert.equal(isCut, false);
      return /first|second/.exec(text)?.[0];
    };
    const seen = new Set<string | undefined>();
    for (let session = 0; session < 16; session++) {
      const replica = await replicaOf(`session-${session}`);
      assert.equal(await replicaOf(`session-${session}`), replica);
      seen.add(replica);
    }
    assert.deepEqual([...seen].sort(), ["first", "second"]);
    rest = "";
    assert.equal((await answerTo("cut")).isCut, true);
    const plain = await fetch(`http://127.0.0.1:${port}/livez`);
    await plain.body?.cancel();
    assert.equal(plain.status, 400);
  },
});
