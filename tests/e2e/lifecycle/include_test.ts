import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, credentials, hello, PATHS } from "../../support/wire/ask.ts";
import { until, within } from "../../support/within.ts";

/** A folder of included files, removed at the end. */
async function openFolder() {
  const path = await Deno.makeTempDir();
  return {
    path,
    /** Writes the tokens of these names to a file, and moves it to its place. */
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

Deno.test("an included file takes effect when it comes, changes, is renamed and goes; a broken one changes nothing", async () => {
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

/** Returns what arrives of a response that breaks off. */
async function beginningOf({ body }: Response): Promise<string> {
  let text = "";
  const chunks = body?.pipeThrough(new TextDecoderStream());
  try {
    for await (const chunk of chunks ?? []) text += chunk;
  } catch {
    return text;
  }
  throw new Error("The response did not break off");
}

for (const removed_tokens of ["finish", "end"] as const) {
  for (const workers of [1, 2]) {
    Deno.test(`with removed_tokens: ${removed_tokens} and ${workers} threads, a stream of a token that leaves does so, and the others go on`, async () => {
      await using folder = await openFolder();
      const answers = new Map<string, ReturnType<typeof openAnswer>>();
      await using upstream = startUpstream(({ text }) => {
        const answer = openAnswer();
        answers.set(JSON.parse(text()).user, answer);
        answer.write("data: {}\n\n");
        return answer.response;
      });
      await folder.put("a.yaml", "alice");
      await folder.put("b.yaml", "bob");
      const server = { removed_tokens, workers };
      await using gateway = await serveFile(
        including(folder.path, upstream.url, server),
      );
      const begin = (user: string) =>
        fetch(gateway.url + PATHS.chat, askAs(user, { stream: true, user }));
      const alice = await within(begin("alice"), "alice's stream");
      const bob = await within(begin("bob"), "bob's stream");
      await Deno.remove(`${folder.path}/b.yaml`);
      await untilLines(gateway, "config_applied", 1);
      if (removed_tokens === "end") {
        const text = await within(beginningOf(bob), "the end of bob's stream");
        assert.match(text, /the administrator has removed its token/);
        assert.doesNotMatch(text, /\[DONE\]/);
        await within(
          Promise.resolve(answers.get("bob")?.cancelled),
          "the provider to be let go",
        );
      }
      for (const [user, stream] of [["alice", alice], ["bob", bob]] as const) {
        if (stream.bodyUsed) continue;
        answers.get(user)?.write("data: [DONE]\n\n");
        answers.get(user)?.close();
        assert.equal(
          await within(stream.text(), `the end of ${user}'s stream`),
          "data: {}\n\ndata: [DONE]\n\n",
        );
      }
      assert.equal(await statusOf("bob", gateway), 401);
    });
  }
}
