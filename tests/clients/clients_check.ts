import assert from "node:assert/strict";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import {
  type CheckedClient,
  clientNamed,
  runBehind,
  testsOf,
} from "./checked_client.ts";
import { CLIENTS, toolPrompt } from "./programs.ts";
import {
  startTranslating,
  UNKNOWN_MODEL,
  type Upstream,
  UPSTREAMS,
  upstreamsFor,
} from "./upstreams.ts";

// Real clients from npm, each with a model of another protocol: one prompt and one tool loop. `deno task test:clients`
// runs this; `deno task test` does not.

for (const program of CLIENTS) {
  const test = await testsOf(program);
  for (const upstream of upstreamsFor(program)) {
    test(
      `works with a model whose provider speaks only ${upstream.endpoint}`,
      async (command, t) => {
        await t.step("a prompt is answered", () =>
          check(upstream, {
            program,
            command,
            prompt: "Say hello",
            text: /You said: ".*Say hello/s,
          }));
        await t.step(
          "a tool is called and its result returns",
          () =>
            check(upstream, {
              program,
              command,
              prompt: toolPrompt(program),
              text: /The tool \w+ returned: .*made by the tool/s,
              proof: "made by the tool\n",
            }),
        );
      },
    );
  }
}

const codex = clientNamed("Codex CLI");
const testCodex = await testsOf(codex);

/** Codex's custom tools, whose input is a text: its editor, and the scripts of its newest models. */
const CUSTOM_TOOLS = [
  {
    tool: "apply_patch",
    model: "gpt-5.5",
    input:
      "*** Begin Patch\n*** Add File: proof.txt\n+made by the tool\n*** End Patch\n",
  },
  {
    tool: "functions__exec",
    model: "gpt-6-sol",
    input:
      'await tools.exec_command({ cmd: "echo made by the tool > proof.txt" }); text("done");',
  },
];

for (const upstream of upstreamsFor(codex)) {
  for (const { tool, model, input } of CUSTOM_TOOLS) {
    testCodex(
      `writes a file with ${tool} with a model whose provider has only function tools, in ${upstream.endpoint}`,
      (command) =>
        check(upstream, {
          program: codex,
          command,
          prompt: `Use ${tool} with ${JSON.stringify({ input })}`,
          text: new RegExp(`The tool ${tool} returned: `),
          proof: "made by the tool\n",
          model,
        }),
    );
  }
}

const opencode = clientNamed("opencode over chat");
const testOpencode = await testsOf(opencode);

for (const upstream of UPSTREAMS) {
  testOpencode(
    `gets its settings by a login at the gateway, and calls a model of ${upstream.endpoint} natively`,
    async (command) => {
      const asked: string[] = [];
      await using gateway = await startTranslating(upstream, { asked });
      const run = await runBehind(gateway, {
        command,
        program: {
          ...opencode,
          launch: (prompt, options) => {
            const { env } = opencode.launch(prompt, options);
            return {
              before: {
                args: ["auth", "login", options.url],
                env: { ...env, MODEL_GATEWAY_TOKEN: options.token },
              },
              args: ["run"],
              stdin: prompt,
              env: { ...env, MODEL_GATEWAY_TOKEN: "" },
              files: {},
            };
          },
        },
        prompt: "Say hello",
      });
      const { output } = run;
      assert.equal(run.code, 0, output);
      assert.match(run.stdout, /You said: ".*Say hello/s, output);
      assert.deepEqual(new Set(asked), new Set([upstream.path]));
      const modes = gateway.lines.requests.items.flatMap(({ mode }) =>
        mode ?? []
      );
      assert.deepEqual(new Set(modes), new Set(["native"]), output);
    },
  );
}

/** A run of a client, with its expected result. */
interface Check extends CheckedClient {
  readonly prompt: string;
  /** The client's final text. */
  readonly text: RegExp;
  /** The text that the tool wrote. */
  readonly proof?: string;
  /** A model whose name the client knows; default: a name that no client knows. */
  readonly model?: string;
}

async function check(
  upstream: Upstream,
  { program, command, prompt, text, proof, model = UNKNOWN_MODEL }: Check,
): Promise<void> {
  const asked: string[] = [];
  await using gateway = await startTranslating(upstream, { model, asked });
  const run = await runBehind(gateway, { program, command, prompt, model });
  const { output } = run;
  assert.equal(run.code, 0, output);
  assert.match(run.stdout, text, output);
  assert.equal(run.file("proof.txt"), proof, output);
  assert.ok(asked.length > 0);
  for (const one of asked) assert.equal(one, upstream.path);
  checkLog(gateway);
  const sessions = new Set(
    gateway.lines.requests.items.filter(({ model }) => model !== undefined)
      .map(({ session }) => session),
  );
  assert.equal(sessions.size, 1, output);
  assert.equal(
    sessions.has(undefined),
    !NAMES_SESSION.test(program.name),
    output,
  );
}

/** The clients that name the session of a request. */
const NAMES_SESSION = /^(Claude Code|Codex CLI|opencode)/;

/** Checks that every request was translated and ended well. */
function checkLog({ lines }: RunningGateway): void {
  assert.deepEqual(lines.others.items, []);
  const relayed = lines.requests.items.filter(({ model }) =>
    model !== undefined
  );
  assert.ok(relayed.length > 0);
  for (const line of lines.requests.items) {
    assert.equal(line.status, 200, JSON.stringify(line));
    assert.equal(line.ended, "complete", JSON.stringify(line));
  }
  for (const line of relayed) assert.equal(line.mode, "translated");
}
