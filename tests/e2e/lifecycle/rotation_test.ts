import assert from "node:assert/strict";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { runProgram } from "../../support/program/run_program.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../support/upstream/test_certificate.ts";
import { until } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

/** Registers a test of links, renaming and signals, which exist on Unix only. */
function unixTest(name: string, test: () => Promise<void>): void {
  const isWindows = Deno.build.os === "windows";
  testNeeding(name, isWindows && "Windows has no such links and signals", test);
}

/** Replaces a file by a complete one. */
async function replace(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, text);
  await Deno.rename(`${path}.new`, path);
}

/** Returns true when a new connection receives a certificate. */
async function shows(url: string, certificate: string): Promise<boolean> {
  try {
    const connection = await Deno.connectTls({
      hostname: "localhost",
      port: Number(new URL(url).port),
      caCerts: [certificate],
    });
    await connection.handshake().finally(() => connection.close());
    return true;
  } catch {
    return false;
  }
}

async function serveTls(
  directory: string,
  upstream: string,
  workers: number,
): Promise<ServedGateway> {
  const tls = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem` };
  await Deno.writeTextFile(tls.cert, testCertificate.cert);
  await Deno.writeTextFile(tls.key, testCertificate.key);
  return await serveFile(
    familiesFile(upstream, { server: { port: 0, tls, workers } }),
  );
}

for (const workers of [1, 2]) {
  unixTest(
    `another certificate is shown to new connections while streams go on, with ${workers} workers`,
    async () => {
      const answer = openAnswer();
      await using upstream = startUpstream(() => answer.response);
      await using directory = await openTempFolder();
      await using gateway = await serveTls(
        directory.path,
        upstream.url,
        workers,
      );
      using client = Deno.createHttpClient({ caCerts: [testCertificate.cert] });
      const stream = await fetch(gateway.url + PATHS.chat, {
        ...ask("chat", hello("chat", { stream: true })),
        client,
      });
      const reader = stream.body?.pipeThrough(new TextDecoderStream())
        .getReader();
      answer.write("data: {}\n\n");
      assert.equal((await reader?.read())?.value, "data: {}\n\n");

      // The pair is invalid until the key follows.
      await replace(`${directory.path}/cert.pem`, nextTestCertificate.cert);
      const { problems } = await gateway.line("config_rejected");
      assert.deepEqual(problems, [
        "server.tls.key: is not the key of the certificate.",
      ]);
      assert.ok(await shows(gateway.url, testCertificate.cert));
      await replace(`${directory.path}/key.pem`, nextTestCertificate.key);
      await gateway.line("config_applied");
      await until(
        () => gateway.lines("listener_renewed").length === workers,
        "every thread to renew its listener",
      );
      // The old listener may still accept a connection.
      await until(
        () => shows(gateway.url, nextTestCertificate.cert),
        "the next certificate",
      );
      for (let count = 0; count < 10; count++) {
        assert.ok(await shows(gateway.url, nextTestCertificate.cert));
        assert.ok(!await shows(gateway.url, testCertificate.cert));
      }

      answer.write("data: [DONE]\n\n");
      answer.close();
      assert.equal((await reader?.read())?.value, "data: [DONE]\n\n");
      assert.equal((await reader?.read())?.done, true);
      assert.equal(gateway.lines("config_rejected").length, 1);
    },
  );
}

unixTest(
  "no request fails while the certificate is replaced several times",
  async () => {
    await using upstream = startUpstream();
    await using directory = await openTempFolder();
    await using gateway = await serveTls(directory.path, upstream.url, 1);
    const pairs = [nextTestCertificate, testCertificate];
    for (let round = 0; round < 4; round++) {
      const { cert, key } = pairs[round % 2] ?? testCertificate;
      await replace(`${directory.path}/cert.pem`, cert);
      await replace(`${directory.path}/key.pem`, key);
      await until(
        () => gateway.lines("listener_renewed").length === round + 1,
        "the listener to be renewed",
      );
      await until(() => shows(gateway.url, cert), "the certificate");
      using client = Deno.createHttpClient({ caCerts: [cert] });
      const answer = await fetch(gateway.url + PATHS.chat, {
        ...ask("chat"),
        client,
      });
      assert.equal(answer.status, 200);
      assert.equal(await answer.text(), "{}");
    }
    assert.equal(gateway.lines("listener_lost").length, 0);
  },
);

unixTest(
  "a gateway does not share the TLS port of another gateway",
  async () => {
    await using directory = await openTempFolder();
    await using gateway = await serveTls(
      directory.path,
      "http://127.0.0.1:9",
      1,
    );
    const port = Number(new URL(gateway.url).port);
    const tls = {
      cert: `${directory.path}/cert.pem`,
      key: `${directory.path}/key.pem`,
    };
    const file = `${directory.path}/second.yaml`;
    await Deno.writeTextFile(
      file,
      JSON.stringify(minimalFile({ server: { port, tls } })),
    );
    const { code, stderr } = await runProgram(["serve", "--config", file]);
    assert.equal(code, 1);
    assert.match(stderr, /another program listens there/);
  },
);

const FIRST = "first-key-of-the-provider";
const SECOND = "second-key-of-the-provider";

/** A gateway whose key is in a file, and its upstream. */
async function openKeyScene() {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(startUpstream());
  const folder = stack.use(await openTempFolder());
  const path = `${folder.path}/provider.key`;
  await Deno.writeTextFile(path, `${FIRST}\n`);
  const auth = { scheme: "bearer", key_file: path };
  const gateway = stack.use(
    await serveFile(minimalFile({
      server: { port: 0 },
      connections: [familyConnection("A", upstream.url, { auth })],
    })),
  );
  const owned = stack.move();
  const status = async () =>
    (await askOnce(gateway.url + PATHS.chat, ask("chat"))).status;
  return {
    upstream,
    path,
    gateway,
    status,
    /** Returns the credential of a request to the upstream. */
    async shown() {
      assert.equal(await status(), 200);
      const { headers } = await upstream.requests.next();
      return headers.get("authorization");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

unixTest(
  "a key in a file takes effect when the file is written in place",
  async () => {
    await using scene = await openKeyScene();
    assert.equal(await scene.shown(), `Bearer ${FIRST}`);
    await Deno.writeTextFile(scene.path, `${SECOND}\n`);
    await until(
      async () => await scene.shown() === `Bearer ${SECOND}`,
      "the second key",
    );
  },
);

unixTest(
  "a missing key file leaves the old key in use, and SIGHUP reports it again",
  async () => {
    await using scene = await openKeyScene();
    await Deno.remove(scene.path);
    await scene.gateway.line("config_rejected");
    assert.equal(await scene.shown(), `Bearer ${FIRST}`);
    assert.equal(scene.gateway.lines("config_rejected").length, 1);
    scene.gateway.kill("SIGHUP");
    await until(
      () => scene.gateway.lines("config_rejected").length === 2,
      "the problem to be logged after SIGHUP",
    );
  },
);

unixTest(
  "SIGHUP without a change ends a provider's long wait, and so does another key",
  async () => {
    await using scene = await openKeyScene();
    const { gateway, upstream, status } = scene;

    async function useUp(): Promise<void> {
      const headers = { "retry-after": "1587827" };
      upstream.play(() => new Response("{}", { status: 429, headers }));
      assert.equal(await status(), 429);
      upstream.play(() => Response.json({}));
      assert.equal(await status(), 429);
    }

    await useUp();
    gateway.kill("SIGHUP");
    await gateway.line("config_unchanged");
    assert.equal(await status(), 200);
    await useUp();
    await replace(scene.path, SECOND);
    await gateway.line("config_applied");
    assert.equal(await status(), 200);
  },
);
