import assert from "node:assert/strict";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { until, within } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";

const ignore = Deno.build.os === "windows";

/** Returns a configuration whose connection sends `key` to its upstream. */
function fileWith(
  key: string,
  url: string,
  server: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const auth = { scheme: "bearer", key };
  return familiesFile(url, {
    server: { port: 0, ...server },
    connections: [familyConnection("A", url, { auth })],
  });
}

/** Waits for the `count`-th line about `event` and returns it. */
async function lineNumber(
  gateway: ServedGateway,
  event: string,
  count: number,
): Promise<Record<string, unknown>> {
  await until(
    () => gateway.lines(event).length >= count,
    `${count} lines ${event}`,
  );
  return gateway.lines(event)[count - 1] ?? {};
}

testNeeding(
  "a running stream keeps the configuration with which it began, and new requests use the new one",
  ignore && "Windows has no such links and signals",
  async (t) => {
    const answer = openAnswer();
    await using upstream = startUpstream(({ text }) =>
      JSON.parse(text()).stream === true ? answer.response : Response.json({})
    );
    await using gateway = await serveFile(fileWith("key-1", upstream.url));
    const url = gateway.url + PATHS.chat;
    const keyOf = async () =>
      (await upstream.requests.next()).headers.get("authorization");
    const running = fetch(url, ask("chat", hello("chat", { stream: true })));
    answer.write("data: {}\n\n");
    const stream = await within(running, "the stream to begin");
    assert.equal(await keyOf(), "Bearer key-1");

    await t.step("SIGHUP", async () => {
      // The gateway also watches the directory: the first of the two signals loads the file.
      await gateway.rewrite(fileWith("key-2", upstream.url));
      gateway.kill("SIGHUP");
      await lineNumber(gateway, "config_applied", 1);
      assert.equal((await askOnce(url, ask("chat"))).status, 200);
      assert.equal(await keyOf(), "Bearer key-2");
    });

    await t.step("a change of the file", async () => {
      await gateway.rewrite(fileWith("key-3", upstream.url));
      await lineNumber(gateway, "config_applied", 2);
      assert.equal((await askOnce(url, ask("chat"))).status, 200);
      assert.equal(await keyOf(), "Bearer key-3");
    });

    await t.step("a bad file", async () => {
      await gateway.rewrite({
        ...fileWith("key-4", upstream.url),
        timeoutz: {},
        limits: { budget: "long" },
      });
      gateway.kill("SIGHUP");
      const { problems } = await gateway.line("config_rejected");
      assert.match(String(problems), /timeoutz/);
      assert.match(String(problems), /limits\.budget/);
      assert.doesNotMatch(gateway.output(), /\n\s+at /);
      assert.equal((await askOnce(url, ask("chat"))).status, 200);
      assert.equal(await keyOf(), "Bearer key-3");
    });

    answer.write("data: [DONE]\n\n");
    answer.close();
    assert.equal(await stream.text(), "data: {}\n\ndata: [DONE]\n\n");
    gateway.kill("SIGTERM");
    assert.equal((await within(gateway.ended, "the exit")).code, 0);
  },
);

testNeeding(
  "a reload names every setting that needs a restart",
  ignore && "Windows has no such links and signals",
  async () => {
    const url = "http://127.0.0.1:9";
    await using gateway = await serveFile(fileWith("key", url));
    const port = 1 + Number(new URL(gateway.url).port);
    await Deno.writeTextFile(`${gateway.path}.crt`, testCertificate.cert);
    await Deno.writeTextFile(`${gateway.path}.key`, testCertificate.key);
    await gateway.rewrite(fileWith("key", url, {
      host: "127.0.0.2",
      port,
      workers: 2,
      admin: { port: 0 },
      tls: { cert: `${gateway.path}.crt`, key: `${gateway.path}.key` },
    }));
    gateway.kill("SIGHUP");
    const { warnings } = await gateway.line("config_applied");
    for (const setting of ["host", "port", "tls", "workers", "admin"]) {
      const warning =
        `server.${setting}: has changed. It takes effect at the next start.`;
      assert.ok(String(warnings).includes(warning), `${setting}: ${warnings}`);
    }
    assert.equal((await askOnce(`${gateway.url}/readyz`)).status, 200);
  },
);

/** A change of the configuration file at `path`; `text` is a valid configuration. */
type Change = (path: string, text: string) => Promise<void>;

const CHANGES: Readonly<Record<string, Change>> = {
  "written in place": Deno.writeTextFile,
  "half written": (path, text) =>
    Deno.writeTextFile(path, text.slice(0, text.length / 2)),
  "made invalid": (path) => Deno.writeTextFile(path, '{"unknown":true}'),
  "deleted": (path) => Deno.remove(path),
  "replaced by renaming": async (path, text) => {
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
  },
  "replaced by a symbolic link": async (path, text) => {
    await Deno.writeTextFile(`${path}.target`, text);
    await Deno.symlink(`${path}.target`, `${path}.link`);
    await Deno.rename(`${path}.link`, path);
  },
};

const ROUNDS = 1_000;

testNeeding(
  `no request fails while the configuration is changed ${ROUNDS} times in every way`,
  ignore && "Windows has no such links and signals",
  async () => {
    await using upstream = startUpstream();
    await using gateway = await serveFile(fileWith("key-0", upstream.url));
    const url = gateway.url + PATHS.chat;
    const changes = Object.values(CHANGES);
    for (let round = 1; round <= ROUNDS; round++) {
      const text = JSON.stringify(fileWith(`key-${round}`, upstream.url));
      await changes[round % changes.length]?.(gateway.path, text);
      gateway.kill("SIGHUP");
      const answer = await fetch(url, ask("chat"));
      assert.equal(answer.status, 200, await answer.text());
      await upstream.requests.next();
    }
    await gateway.rewrite(fileWith("key-last", upstream.url));
    gateway.kill("SIGHUP");
    await until(async () => {
      await askOnce(url, ask("chat"));
      const { headers } = await upstream.requests.next();
      return headers.get("authorization") === "Bearer key-last";
    }, "the last configuration");
    await gateway.line("config_applied");
    // A file that changes constantly may be read just while it is valid, so the last change is made alone.
    await CHANGES["made invalid"]?.(gateway.path, "");
    await gateway.line("config_rejected");
    assert.equal((await askOnce(url, ask("chat"))).status, 200);
    assert.equal(gateway.lines("config_failed").length, 0);
  },
);

Deno.test("an invalid edit and the return to the valid file are each reported once", async () => {
  await using upstream = startUpstream(() => Response.json({}));
  const good = fileWith("key-1", upstream.url);
  await using gateway = await serveFile(good);
  const bad = { ...good, timeoutz: {} };
  await gateway.rewrite(bad);
  await lineNumber(gateway, "config_rejected", 1);
  await gateway.rewrite(good);
  await lineNumber(gateway, "config_unchanged", 1);
  assert.equal(gateway.lines("config_rejected").length, 1);
  await gateway.rewrite(bad);
  await lineNumber(gateway, "config_rejected", 2);
  await gateway.rewrite(fileWith("key-2", upstream.url));
  await lineNumber(gateway, "config_applied", 1);
  assert.equal(gateway.lines("config_unchanged").length, 1);
});

Deno.test("a port that is changed and changed back leaves no warning about a restart", async () => {
  await using upstream = startUpstream(() => Response.json({}));
  await using gateway = await serveFile(fileWith("key-1", upstream.url));
  await gateway.rewrite(fileWith("key-1", upstream.url, { port: 1 }));
  const { warnings } = await lineNumber(gateway, "config_applied", 1);
  assert.match(String(warnings), /^server\.port: /);
  await gateway.rewrite(fileWith("key-1", upstream.url));
  const back = await lineNumber(gateway, "config_applied", 2);
  assert.deepEqual(back.warnings, []);
});
