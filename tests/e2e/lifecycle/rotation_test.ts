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

/** Links and renaming exist on Unix only. */
const ignore = Deno.build.os === "windows";

/** Creates a directory for the test, which removes it. */
async function tempDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir();
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
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
  testNeeding(
    `another certificate is shown to new connections while streams go on, with ${workers} workers`,
    ignore && "Windows has no such links and signals",
    async () => {
      const answer = openAnswer();
      await using upstream = startUpstream(() => answer.response);
      await using directory = await tempDirectory();
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
      // The old listener may have a connection left to accept.
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

testNeeding(
  "a certificate is replaced again and again, and no request is lost",
  ignore && "Windows has no such links and signals",
  async () => {
    await using upstream = startUpstream();
    await using directory = await tempDirectory();
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

testNeeding(
  "a TLS port that another gateway has is not shared with it",
  ignore && "Windows has no such links and signals",
  async () => {
    await using directory = await tempDirectory();
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

/** Starts a gateway whose key is in a file. */
async function serveKeyFile(url: string, keyFile: string) {
  return await serveFile(minimalFile({
    server: { port: 0 },
    connections: [
      familyConnection("A", url, {
        auth: { scheme: "bearer", key_file: keyFile },
      }),
    ],
  }));
}

/** Ways to change the key in a file. */
const CHANGES: Readonly<
  Record<string, (path: string, key: string) => Promise<void>>
> = {
  "written in place": (path, key) => Deno.writeTextFile(path, key),
  "replaced by renaming": replace,
  async "deleted and created again"(path, key) {
    await Deno.remove(path);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await Deno.writeTextFile(path, key);
  },
};

for (const [how, change] of Object.entries(CHANGES)) {
  testNeeding(
    `a key in a file is taken over when the file is ${how}`,
    ignore && "Windows has no such links and signals",
    async () => {
      await using upstream = startUpstream();
      await using directory = await tempDirectory();
      const path = `${directory.path}/provider.key`;
      await Deno.writeTextFile(path, "first-key-of-the-provider\n");
      await using gateway = await serveKeyFile(upstream.url, path);
      const shown = async () => {
        const answer = await askOnce(gateway.url + PATHS.chat, ask("chat"));
        assert.equal(answer.status, 200, answer.text);
        const { headers } = await upstream.requests.next();
        return headers.get("authorization");
      };
      assert.equal(await shown(), "Bearer first-key-of-the-provider");
      await change(path, "second-key-of-the-provider\n");
      await until(
        async () => await shown() === "Bearer second-key-of-the-provider",
        "the second key",
      );
    },
  );
}

testNeeding(
  "a key in a volume of Kubernetes is taken over when its links switch",
  ignore && "Windows has no such links and signals",
  async () => {
    await using upstream = startUpstream();
    await using directory = await tempDirectory();
    const root = directory.path;
    const mount = async (version: string, key: string) => {
      await Deno.mkdir(`${root}/..${version}`);
      await Deno.writeTextFile(`${root}/..${version}/provider.key`, key);
      await Deno.symlink(`..${version}`, `${root}/..data_tmp`);
      await Deno.rename(`${root}/..data_tmp`, `${root}/..data`);
    };
    await mount("one", "first-key-of-the-provider");
    await Deno.symlink("..data/provider.key", `${root}/provider.key`);
    await using gateway = await serveKeyFile(
      upstream.url,
      `${root}/provider.key`,
    );
    await mount("two", "second-key-of-the-provider");
    await until(async () => {
      await askOnce(gateway.url + PATHS.chat, ask("chat"));
      const { headers } = await upstream.requests.next();
      return headers.get("authorization") ===
        "Bearer second-key-of-the-provider";
    }, "the second key");
  },
);

testNeeding(
  "a key file that is missing or invalid keeps the key in use, and is reported once",
  ignore && "Windows has no such links and signals",
  async () => {
    await using upstream = startUpstream();
    await using directory = await tempDirectory();
    const path = `${directory.path}/provider.key`;
    await Deno.writeTextFile(path, "first-key-of-the-provider");
    await using gateway = await serveKeyFile(upstream.url, path);
    await Deno.remove(path);
    await gateway.line("config_rejected");
    // Another file changes meanwhile, and the key's own looks older after two seconds.
    await Deno.utime(gateway.path, new Date(0), new Date(0));
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    assert.equal(gateway.lines("config_rejected").length, 1);
    const answer = await askOnce(gateway.url + PATHS.chat, ask("chat"));
    assert.equal(answer.status, 200);
    const { headers } = await upstream.requests.next();
    assert.equal(
      headers.get("authorization"),
      "Bearer first-key-of-the-provider",
    );
    gateway.kill("SIGHUP");
    await until(
      () => gateway.lines("config_rejected").length === 2,
      "the problem to be logged after SIGHUP",
    );
  },
);

testNeeding(
  "SIGHUP without a change and another key end a provider's long wait",
  ignore && "Windows has no such links and signals",
  async () => {
    await using upstream = startUpstream();
    await using directory = await tempDirectory();
    const path = `${directory.path}/provider.key`;
    await Deno.writeTextFile(path, "first-key-of-the-provider");
    await using gateway = await serveKeyFile(upstream.url, path);
    const status = async () =>
      (await askOnce(gateway.url + PATHS.chat, ask("chat"))).status;

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
    await replace(path, "second-key-of-the-provider");
    await gateway.line("config_applied");
    assert.equal(await status(), 200);
  },
);
