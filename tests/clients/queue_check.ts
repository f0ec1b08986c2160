import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import { installClient } from "./install.ts";
import { type ClientProgram, CLIENTS, toolPrompt } from "./programs.ts";
import { type ClientRun, runClient } from "./run_client.ts";
import { chatUpstream, startTranslating } from "./upstreams.ts";

// Real agents that wait for their turn (docs/failover.md#waiting-for-a-turn). `deno task
// test:clients` runs this; `deno task test` does not.

const MODEL = "unknown-model";

/** The number of agents of each client, and the slots that they share. */
const AGENTS = 8;
const SLOTS = 2;

/** The time of an answer, in milliseconds, so that the agents wait for each other. */
const ANSWER_MS = 2_000;

/** More time than all agents take on a busy machine, in milliseconds. */
const RUN_MS = 480_000;

const names = ["Claude Code", "Codex CLI"];
const programs: [ClientProgram, readonly string[]][] = [];
for (const program of CLIENTS.filter(({ name }) => names.includes(name))) {
  const installed = await installClient(program);
  if ("command" in installed) programs.push([program, installed.command]);
}

Deno.test({
  name:
    "eight of Claude Code and eight of Codex CLI share a connection with two slots, and none fails",
  ignore: programs.length < names.length,
  async fn() {
    const asked: string[] = [];
    let running = 0;
    let most = 0;
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
      connection: { max_concurrent: SLOTS, queue: { max_wait: 240_000 } },
      asked,
      async spoil(answer) {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
        running -= 1;
        return answer;
      },
    });
    const run = ([program, command]: typeof programs[number]) =>
      runClient(command, {
        program,
        prompt: toolPrompt(program),
        address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
        runMs: RUN_MS,
      });
    const runs: readonly ClientRun[] = await Promise.all(
      programs.flatMap((one) => Array.from({ length: AGENTS }, () => run(one))),
    );
    for (const { code, stdout, stderr, file } of runs) {
      const output = `${stdout}\n${stderr}\n${gateway.lines.text()}`;
      assert.equal(code, 0, output);
      assert.equal(file("proof.txt"), "made by the tool\n", output);
    }
    const lines = gateway.lines.requests.items
      .filter(({ model }) => model !== undefined);
    assert.ok(lines.length >= 2 * runs.length, `${lines.length}`);
    for (const line of lines) {
      assert.equal(line.status, 200, JSON.stringify(line));
    }
    assert.equal(asked.length, lines.length);
    assert.equal(most, SLOTS);
    const waited = lines.filter(({ waited_for }) =>
      waited_for === "concurrency"
    );
    assert.ok(waited.length >= AGENTS, `${waited.length}`);
  },
});
