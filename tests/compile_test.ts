import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { openLogin } from "../src/tools/login/kept_login.ts";
import { sourceCommit } from "../release/commit.ts";
import { releaseDocuments } from "../release/documents.ts";
import { VERSION } from "../src/base/version.ts";
import type { SeenDemo } from "./support/wire/ask_demo.ts";
import { compileGateway } from "./support/program/compile.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
} from "./support/gateway/config.ts";
import { readExposition, sumOf } from "./support/gateway/exposition.ts";
import { familiesFile } from "./support/gateway/families.ts";
import { fromFileUrl } from "./support/program/paths.ts";
import { startProcess } from "./support/program/process.ts";
import { startUpstream } from "./support/upstream/scripted_upstream.ts";
import { canSeclude, secludedCommand } from "./support/program/seclusion.ts";
import {
  allowedCalls,
  canTrace,
  countedCalls,
} from "./support/program/system_calls.ts";
import { until } from "./support/within.ts";
import { testNeeding } from "./support/ignored.ts";
import {
  BROKEN_CHUNKS,
  CHUNKED,
  head,
  REFUSED,
  SECOND,
  statuses,
} from "./support/wire/framing.ts";
import { connectRaw } from "./support/wire/raw_socket.ts";
import { steps } from "./support/steps.ts";

const ASK_DEMO = fromFileUrl(
  new URL("./support/wire/ask_demo.ts", import.meta.url),
);

const compiled = await compileGateway();
const lack = "reason" in compiled && compiled.reason;

const HEADERS = {
  authorization: "Bearer demo-token",
  "x-api-key": "demo-token",
  "anthropic-version": "2023-06-01",
  "content-type": "application/json",
};

/** A request of each protocol, with a text of its answer. */
const REQUESTS = [
  {
    path: "/v1/chat/completions",
    body: { model: "demo-a", messages: [{ role: "user", content: "Hello" }] },
    holds: "chat.completion",
  },
  {
    path: "/v1/messages",
    body: {
      model: "demo-b",
      max_tokens: 64,
      messages: [{ role: "user", content: "Hello" }],
    },
    holds: "end_turn",
  },
  {
    path: "/v1/responses",
    body: { model: "demo-c", input: "Hello", stream: true },
    holds: "response.completed",
  },
] as const;

testNeeding(
  "the executable serves each protocol in an empty directory with an empty environment",
  lack,
  async (t) => {
    if ("reason" in compiled) return;
    const directory = await Deno.makeTempDir();
    const gateway = await startProcess(compiled.path, {
      args: ["demo", "--port", "0"],
      cwd: directory,
      clearEnv: true,
    });
    try {
      for (const { path, body, holds } of REQUESTS) {
        await t.step(path, async () => {
          const answer = await fetch(gateway.url + path, {
            method: "POST",
            headers: HEADERS,
            body: JSON.stringify(body),
          });
          const text = await answer.text();
          assert.equal(answer.status, 200, text);
          assert.ok(text.includes(holds), text);
        });
      }
    } finally {
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      await Deno.remove(directory);
    }
  },
);

testNeeding(
  "the executable refuses an ambiguous request with any version of Deno",
  lack,
  async (t) => {
    if ("reason" in compiled) return;
    await using upstream = startUpstream();
    const directory = await Deno.makeTempDir();
    const file = familiesFile(upstream.url, { server: { port: 0 } });
    await Deno.writeTextFile(`${directory}/gateway.yaml`, JSON.stringify(file));
    const gateway = await startProcess(compiled.path, {
      args: ["serve"],
      cwd: directory,
      clearEnv: true,
    });
    const port = Number(new URL(gateway.url).port);
    try {
      for (const [name, request] of Object.entries(REFUSED)) {
        // Deno 2.7 removes the length of a chunked request, and reads the chunks.
        if (name === "chunks and a length") continue;
        await t.step(name, async () => {
          using socket = await connectRaw(port);
          await socket.write(request + SECOND);
          assert.deepEqual(statuses(await socket.readAll()), [400]);
        });
      }
      await steps(t, Object.entries(BROKEN_CHUNKS), async ([, chunks]) => {
        using socket = await connectRaw(port);
        await socket.write(head(CHUNKED));
        await socket.write(chunks + SECOND);
        const text = await socket.readAll();
        // Deno 2.9 closes the connection if it finds the fault itself.
        assert.ok(["", "400"].includes(statuses(text).join()), text);
      });
      assert.equal(upstream.requests.items.length, 0);
    } finally {
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      await Deno.remove(directory, { recursive: true });
    }
  },
);

testNeeding(
  "the executable translates a long request and a long answer in a separate thread",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const words = "word ".repeat(200_000);
    await using upstream = startUpstream(() =>
      Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "model-a",
        content: [{ type: "text", text: words }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      })
    );
    const directory = await Deno.makeTempDir();
    const connection = connectionFile({
      family: "B",
      endpoints: { messages: `${upstream.url}/v1` },
    });
    await Deno.writeTextFile(
      `${directory}/gateway.yaml`,
      JSON.stringify(
        minimalFile({ server: { port: 0 }, connections: [connection] }),
      ),
    );
    const gateway = await startProcess(compiled.path, {
      args: ["serve"],
      cwd: directory,
      clearEnv: true,
    });
    try {
      const messages = [{ role: "user", content: words }];
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...HEADERS, authorization: `Bearer ${ALICE_TOKEN}` },
        body: JSON.stringify({ model: "model-a", messages }),
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, text.slice(0, 1000));
      assert.equal(JSON.parse(text).choices[0].message.content, words);
      const seen = JSON.parse((await upstream.requests.next()).text());
      assert.deepEqual(seen.messages, [{
        role: "user",
        content: [{ type: "text", text: words }],
      }]);
    } finally {
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      await Deno.remove(directory, { recursive: true });
    }
  },
);

testNeeding(
  "the executable renews a login over the network, even with compressed responses of the issuer",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const renewed = `eyJhbGciOiJSUzI1NiJ9.${
      btoa(JSON.stringify({ exp: 4e9 })).replace(/=+$/, "")
    }.signature`;
    const answer = new Response(
      new Blob([JSON.stringify({ access_token: renewed, expires_in: 900 })])
        .stream().pipeThrough(new CompressionStream("gzip")),
    );
    const bytes = await answer.bytes();
    await using issuer = startUpstream(() =>
      new Response(bytes, {
        headers: {
          "content-type": "application/json",
          "content-encoding": "gzip",
        },
      })
    );
    const known = {
      issuer: issuer.url,
      client: "people",
      scope: "openid offline_access",
      audience: undefined,
    };
    const home = await Deno.makeTempDir();
    const kept = openLogin(`${home}/model-gateway/logins`, known);
    await kept.alone(() =>
      kept.write({
        token: "eyJhbGciOiJSUzI1NiJ9.e30.old",
        fromMs: 0,
        untilMs: 1,
        refreshToken: "once",
        tokenUrl: `${issuer.url}/token`,
      })
    );
    const { code, stdout, stderr } = await new Deno.Command(compiled.path, {
      args: ["login", "--issuer", issuer.url, "--client", "people"],
      // The proxy must not be asked, and this form excludes the issuer.
      env: {
        XDG_STATE_HOME: home,
        HTTP_PROXY: "http://127.0.0.1:9",
        NO_PROXY: new URL(issuer.url).host,
      },
      clearEnv: true,
      stdin: "null",
    }).output();
    await Deno.remove(home, { recursive: true });
    const decoder = new TextDecoder();
    assert.equal(code, 0, decoder.decode(stderr));
    assert.equal(decoder.decode(stdout), `${renewed}\n`);
    const { path } = await issuer.requests.next();
    assert.equal(path, "/token");
  },
);

/** The user `nobody`, who owns no file, on Linux and the BSDs. */
const NOBODY = 65_534;

const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;

testNeeding(
  "the executable serves as a user without files or permission to write",
  [lack, !isRoot && "only root can become another user"],
  async () => {
    if ("reason" in compiled) return;
    const directory = await Deno.makeTempDir();
    await Deno.chmod(directory, 0o555);
    const gateway = await startProcess(compiled.path, {
      args: ["demo", "--port", "0"],
      cwd: directory,
      env: { HOME: directory, TMPDIR: directory },
      clearEnv: true,
      uid: NOBODY,
      gid: NOBODY,
    });
    try {
      const answer = await fetch(`${gateway.url}/readyz`);
      assert.equal(answer.status, 200, await answer.text());
    } finally {
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      // Fails if the executable has left a file: only an empty directory can be removed.
      await Deno.remove(directory);
    }
  },
);

testNeeding(
  "the executable stores no compiled code in a folder of other users",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const directory = await Deno.makeTempDir();
    const gateway = await startProcess(compiled.path, {
      args: ["demo", "--port", "0"],
      env: { TMPDIR: directory },
      clearEnv: true,
    });
    // The runtime writes its cache after it has loaded all modules.
    await (await fetch(`${gateway.url}/readyz`)).body?.cancel();
    gateway.kill("SIGTERM");
    assert.equal((await gateway.ended).code, 0);
    const left = await Array.fromAsync(
      Deno.readDir(directory),
      ({ name }) => name,
    );
    await Deno.remove(directory, { recursive: true });
    assert.deepEqual(left, []);
  },
);

const secluded = await canSeclude();

testNeeding(
  "the executable's demo answers without a network and without permission to write",
  [lack, !secluded && "the system lets the test take up no namespaces"],
  async () => {
    if ("reason" in compiled) return;
    const directory = await Deno.makeTempDir();
    const ran = await secludedCommand(directory, [
      ...[Deno.execPath(), "run", "--allow-all", ASK_DEMO],
      ...[compiled.path, directory],
      ...(isRoot ? [`${NOBODY}`] : []),
    ]).output();
    await Deno.remove(directory);
    const decoder = new TextDecoder();
    assert.ok(ran.success, decoder.decode(ran.stderr));
    const seen: SeenDemo = JSON.parse(decoder.decode(ran.stdout));
    assert.deepEqual(new Set(seen.interfaces), new Set(["lo"]));
    assert.match(seen.refusal ?? "it was written", /Read-only file system/);
    assert.equal(seen.status, 200, seen.text);
    assert.match(seen.text, /chat\.completion/);
    assert.equal(seen.code, 0);
  },
);

const traceable = await canTrace();

testNeeding("the executable makes no system call that its unit forbids", [
  lack,
  !traceable && "there is no strace or no systemd-analyze here",
], async () => {
  if ("reason" in compiled) return;
  const unit = await Deno.readTextFile(
    new URL("../packaging/model-gateway.service", import.meta.url),
  );
  const filters = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)]
    .map(([, filter = ""]) => filter);
  const directory = await Deno.makeTempDir();
  const summary = `${directory}/calls`;
  // With -D, the traced program keeps the known process id and receives the signal.
  const gateway = await startProcess("strace", {
    args: [
      ...["-D", "-f", "-c", "-o", summary],
      ...[compiled.path, "demo", "--port", "0"],
    ],
  });
  for (const { path, body } of REQUESTS) {
    const answer = await fetch(gateway.url + path, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.text());
  }
  gateway.kill("SIGTERM");
  assert.equal((await gateway.ended).code, 0);
  const read = () => Deno.readTextFileSync(summary);
  await until(() => read().includes("total"), "the summary of strace");
  const made = countedCalls(read());
  await Deno.remove(directory, { recursive: true });
  assert.ok(made.size > 30 && made.has("accept4"), [...made].join(" "));
  const forbidden = made.difference(await allowedCalls(filters));
  assert.deepEqual([...forbidden], []);
});

testNeeding(
  "the executable serves from two workers and counts their requests",
  [
    lack,
    Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  ],
  async () => {
    if ("reason" in compiled) return;
    const directory = await Deno.makeTempDir();
    const server = { port: 0, workers: 2, admin: { port: 0 } };
    await Deno.writeTextFile(
      `${directory}/gateway.yaml`,
      JSON.stringify(minimalFile({ server })),
    );
    const gateway = await startProcess(compiled.path, {
      args: ["serve"],
      cwd: directory,
      clearEnv: true,
    });
    try {
      const answer = await fetch(`${gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${ALICE_TOKEN}` },
      });
      assert.equal(answer.status, 200, await answer.text());
      const metricsUrl = gateway.output().match(/metrics on (\S+)/)?.[1] ?? "";
      const samples = readExposition(await (await fetch(metricsUrl)).text());
      assert.equal(sumOf(samples, "model_gateway_requests_total"), 1);
      assert.equal(sumOf(samples, "model_gateway_workers"), 2);
    } finally {
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
      await Deno.remove(directory, { recursive: true });
    }
  },
);

testNeeding(
  "the executable knows its version and holds no package of the tests",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const { stdout } = await new Deno.Command(compiled.path, {
      args: ["--version"],
      clearEnv: true,
    }).output();
    const [version, commit, ...runtime] = new TextDecoder().decode(stdout)
      .split("\n");
    assert.equal(version, `model-gateway ${VERSION}`);
    assert.equal(commit, `commit ${await sourceCommit()}`);
    assert.match(
      runtime.join("\n"),
      /^deno \d+\.\d+\.\d+\nv8 \d+\.[\d.]+\S*\n$/,
    );
    assert.ok(compiled.embedded.includes("zod"), compiled.embedded);
    assert.doesNotMatch(compiled.embedded, /@anthropic-ai|openai\/\d/);
    const packages = [
      ...compiled.embedded.matchAll(
        /^│.*[├└]── ((?:@[\w-]+\/)?[\w-]+)\/(?:\*|\d)/gm,
      ),
    ].map(([, name]) => name);
    assert.deepEqual(packages.sort(), await listedPackages());
  },
);

testNeeding(
  "the executable embeds less than 7 MB",
  [
    lack,
    Deno.build.os === "windows" &&
    "unused files stay in where Windows compiles",
  ],
  () => {
    if ("reason" in compiled) return;
    const [, size] = /^Files: ([\d.]+)MB$/m.exec(compiled.embedded) ?? [];
    assert.ok(Number(size) < 7, compiled.embedded.slice(-200));
  },
);

/** The packages in the bill of materials. */
async function listedPackages(): Promise<readonly string[]> {
  const documents = await releaseDocuments();
  const { components } = JSON.parse(
    documents.get("model-gateway.cdx.json") ?? "",
  );
  return components.flatMap((one: { type: string; name: string }) =>
    one.type === "library" ? [one.name] : []
  ).sort();
}

testNeeding(
  "two executables compiled from the same source are equal byte for byte",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const first = await Deno.readFile(compiled.path);
    const again = await compileGateway();
    assert.ok("path" in again);
    const second = await Deno.readFile(again.path);
    assert.equal(Buffer.compare(first, second), 0);
  },
);

testNeeding(
  "compile keeps the old executable if the new one does not run, or if there is no base",
  lack,
  async () => {
    if ("reason" in compiled) return;
    const before = await Deno.stat(compiled.path);
    const bases = {
      // The compiler accepts any program as its base.
      [Deno.execPath()]: /the new executable does not run/,
      "/nowhere/denort": /read from the path in DENORT_BIN/,
    };
    for (const [base, expected] of Object.entries(bases)) {
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["task", "--quiet", "compile"],
        env: { DENORT_BIN: base, NO_COLOR: "1" },
        stdin: "null",
      }).output();
      assert.equal(success, false);
      assert.match(new TextDecoder().decode(stderr), expected);
    }
    const after = await Deno.stat(compiled.path);
    assert.deepEqual([after.ino, after.size], [before.ino, before.size]);
  },
);
