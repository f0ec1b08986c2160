import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { minimalFile, tokenFile } from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, credentials, hello, PATHS } from "../../support/wire/ask.ts";
import { until, within } from "../../support/within.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";
import { testNeeding } from "../../support/ignored.ts";

/** A folder of included files, removed at the end. */
async function openFolder() {
  const path = await Deno.makeTempDir();
  return {
    path,
    /** Writes the tokens of these names to a file, and renames it into the folder. */
    async put(file: string, ...names: string[]): Promise<void> {
      const tokens = names.map((name) =>
        tokenFile({ name, sha256: sha256Hex(`mg_${name}`) })
      );
      await Deno.writeTextFile(`${path}/.new`, JSON.stringify({ tokens }));
      await Deno.rename(`${path}/.new`, `${path}/${file}`);
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** Returns a configuration that includes every file of a folder. */
function including(
  folder: string,
  url: string,
  server: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return familiesFile(url, {
    server: { port: 0, ...server },
    include: [`${folder}/*.yaml`],
    tokens: undefined,
  });
}

function askAs(name: string, overrides = {}): RequestInit {
  const headers = credentials("chat", `mg_${name}`);
  return ask("chat", hello("chat", overrides), headers);
}

async function statusOf(name: string, { url }: ServedGateway): Promise<number> {
  return (await askOnce(url + PATHS.chat, askAs(name))).status;
}

/** Waits until the log has this many lines about an event. */
async function untilLines(
  gateway: ServedGateway,
  event: string,
  count: number,
): Promise<void> {
  await until(
    () => gateway.lines(event).length >= count,
    `${count} lines ${event}`,
  );
}

Deno.test("an included file takes effect when it appears, changes, is renamed and disappears; a broken file changes nothing", async () => {
  await using folder = await openFolder();
  await using upstream = startUpstream(() => Response.json({}));
  await folder.put("a.yaml", "alice");
  await using gateway = await serveFile(including(folder.path, upstream.url));
  assert.equal(await statusOf("alice", gateway), 200);
  assert.equal(await statusOf("bob", gateway), 401);

  await folder.put("b.yaml", "bob");
  await untilLines(gateway, "config_applied", 1);
  assert.equal(await statusOf("bob", gateway), 200);

  await Deno.writeTextFile(`${folder.path}/b.yaml`, "tokens:\n  - name: [");
  await untilLines(gateway, "config_rejected", 1);
  const [rejected] = gateway.lines("config_rejected");
  assert.match(
    String(rejected?.problems),
    /b\.yaml: line 3, column 1: is not valid YAML/,
  );
  assert.equal(await statusOf("bob", gateway), 200);

  await folder.put("b.yaml", "bob", "carol");
  await untilLines(gateway, "config_applied", 2);
  assert.equal(await statusOf("carol", gateway), 200);

  await Deno.rename(`${folder.path}/b.yaml`, `${folder.path}/b.yaml.off`);
  await untilLines(gateway, "config_applied", 3);
  assert.equal(await statusOf("bob", gateway), 401);
  assert.equal(await statusOf("alice", gateway), 200);

  await Deno.rename(folder.path, `${folder.path}-gone`);
  await untilLines(gateway, "config_rejected", 2);
  assert.equal(await statusOf("alice", gateway), 200);
  await Deno.rename(`${folder.path}-gone`, folder.path);
  await untilLines(gateway, "config_unchanged", 1);
});

/** The beginning and the end of a provider's stream of each family. */
const STREAMS = {
  "model-a": ["data: {}\n\n", "data: [DONE]\n\n"],
  "model-b": [
    [
      { type: "message_start", message: { id: "m", role: "assistant" } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "text" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "Hi" },
      },
    ],
    [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    ],
  ].map((events) =>
    events.map((event) =>
      `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
    ).join("")
  ),
};

/** Two streams each of alice and bob, native and translated; bob's token has just been removed. */
async function removeBob(
  server: Readonly<Record<string, unknown>>,
  check: (scene: {
    readonly gateway: ServedGateway;
    /** The text of each stream, and whether it broke off. */
    readonly read: (user: string) => Promise<readonly Rest[]>;
    /** Ends the provider's answers to the first `count` streams; alice's come first. */
    readonly finish: (count: number) => void;
  }) => Promise<void>,
): Promise<void> {
  await using folder = await openFolder();
  const answers: (readonly [ReturnType<typeof openAnswer>, string])[] = [];
  await using upstream = startUpstream(({ text }) => {
    const model = JSON.parse(text()).model === "model-a"
      ? "model-a"
      : "model-b";
    const [beginning = "", end = ""] = STREAMS[model];
    const answer = openAnswer();
    answers.push([answer, end]);
    answer.write(beginning);
    return answer.response;
  });
  await folder.put("a.yaml", "alice");
  await folder.put("b.yaml", "bob");
  await using gateway = await serveFile(
    including(folder.path, upstream.url, server),
  );
  const begin = async (user: string, model: string) => {
    const response = await within(
      fetch(gateway.url + PATHS.chat, askAs(user, { model, stream: true })),
      `the stream of ${user}`,
    );
    assert.equal(response.status, 200);
    return { user, rest: restOf(response) };
  };
  const streams: { readonly user: string; readonly rest: Promise<Rest> }[] = [];
  for (const user of ["alice", "bob"]) {
    for (const model of Object.keys(STREAMS)) {
      streams.push(await begin(user, model));
    }
  }
  await Deno.remove(`${folder.path}/b.yaml`);
  await untilLines(gateway, "config_applied", 1);
  assert.equal(await statusOf("bob", gateway), 401);
  await check({
    gateway,
    read: (user) =>
      Promise.all(
        streams.filter((stream) => stream.user === user)
          .map(({ rest }) => within(rest, `the end of a stream of ${user}`)),
      ),
    finish(count) {
      for (const [answer, end] of answers.slice(0, count)) {
        answer.write(end);
        answer.close();
      }
    },
  });
}

/** The part of a response that arrived. */
interface Rest {
  readonly text: string;
  readonly isBroken: boolean;
}

async function restOf({ body }: Response): Promise<Rest> {
  let text = "";
  try {
    for await (
      const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []
    ) {
      text += chunk;
    }
    return { text, isBroken: false };
  } catch {
    return { text, isBroken: true };
  }
}

Deno.test("a removed token's running streams finish by default", async () => {
  await removeBob({}, async ({ read, finish }) => {
    finish(4);
    for (
      const { text, isBroken } of [...await read("bob"), ...await read("alice")]
    ) {
      assert.match(text, /\[DONE\]/);
      assert.equal(isBroken, false);
    }
  });
});

for (const workers of [1, 2]) {
  Deno.test(`with removed_tokens: end and ${workers} threads, only the removed token's running streams end at once`, async () => {
    const server = { removed_tokens: "end", workers };
    await removeBob(server, async ({ gateway, read, finish }) => {
      const [native, translated] = await read("bob");
      assert.deepEqual(native, { text: "data: {}\n\n", isBroken: true });
      assert.match(
        String(translated?.text),
        /"error":.*the administrator has removed its token/,
      );
      assert.doesNotMatch(String(translated?.text), /\[DONE\]/);
      await untilLines(gateway, "request", 3);
      const ended = gateway.lines("request").filter(({ status }) =>
        status === 200
      );
      for (const { token, ended: ending, reason } of ended) {
        assert.deepEqual([token, ending, reason], [
          ...["bob", "error", "its token was removed"],
        ]);
      }
      assert.equal(ended.length, 2);
      finish(2);
      for (const { text } of await read("alice")) {
        assert.match(text, /\[DONE\]/);
      }
    });
  });
}

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Mounts a folder at another one, then runs a program that sees it there, as a container does. */
const MOUNTED = [
  "--mount",
  "sh",
  "-c",
  'mount --bind "$1" "$2" && shift 2 && exec "$@"',
  "sh",
];

const canMount = await hasProgram("unshare", [
  ...MOUNTED,
  "/tmp",
  "/tmp",
  "true",
]);

testNeeding(
  "a configuration and a key that are renamed into a mounted folder take effect",
  !canMount && "nothing may be mounted here",
  async () => {
    const directory = await Deno.makeTempDir();
    const [config, mount] = [`${directory}/config`, `${directory}/mount`];
    await Deno.mkdir(config);
    await Deno.mkdir(mount);
    const rename = async (name: string, text: string) => {
      await Deno.writeTextFile(`${config}/.new`, text);
      await Deno.rename(`${config}/.new`, `${config}/${name}`);
    };
    await using upstream = startUpstream(() => Response.json({}));
    const file = (model: string) =>
      JSON.stringify(minimalFile({
        server: { port: 0 },
        connections: [
          familyConnection("A", upstream.url, {
            auth: { key_file: "key" },
            models: ["model-a", model],
          }),
        ],
      }));
    await rename("key", "key-1");
    await rename("gateway.yaml", file("one"));
    const gateway = await startProcess("unshare", {
      args: [
        ...[...MOUNTED, config, mount, Deno.execPath(), "run", "--no-prompt"],
        ...["--allow-net", "--allow-read", "--allow-env", "src/tools/main.ts"],
        ...["serve", "--config", `${mount}/gateway.yaml`],
      ],
      cwd: ROOT,
    });
    const applied = () => gateway.output().split('"config_applied"').length - 1;
    const keyOf = async () => {
      const { status } = await askOnce(gateway.url + PATHS.chat, ask("chat"));
      assert.equal(status, 200);
      const { headers } = await upstream.requests.next();
      return headers.get("authorization");
    };
    try {
      assert.equal(await keyOf(), "Bearer key-1");
      await rename("key", "key-2");
      await until(() => applied() === 1, "the new key");
      assert.equal(await keyOf(), "Bearer key-2");
      await rename("gateway.yaml", file("two"));
      await until(() => applied() === 2, "the new configuration");
    } finally {
      gateway.kill("SIGTERM");
      await within(gateway.ended, "the exit");
      await Deno.remove(directory, { recursive: true });
    }
  },
);
