import assert from "node:assert/strict";
import { type CheckedClient, runBehind } from "./checked_client.ts";
import { installClient } from "./install.ts";
import { CLIENTS, toolPrompt } from "./programs.ts";
import { chatUpstream, startTranslating } from "./upstreams.ts";

// Real agents that wait for their turn (docs/failover.md#waiting-for-a-turn). `deno task
// test:clients` runs this; `deno task test` does not.

/** The number of agents of each client, and the slots that they share. */
const AGENTS = 8;
const SLOTS = 2;

/** The time of an answer, in milliseconds, so that the agents wait for each other. */
const ANSWER_MS = 2_000;

/** More time than all agents take on a busy machine, in milliseconds. */
const RUN_MS = 480_000;

const names = ["Claude Code", "Codex CLI"];
const clients: CheckedClient[] = [];
for (const program of CLIENTS.filter(({ name }) => names.includes(name))) {
  const installed = await installClient(program);
  if ("command" in installed) clients.push({ program, ...installed });
}

Deno.test({
  name:
    "eight agents of Claude Code and eight of Codex CLI all succeed with a connection of two slots",
  ignore: clients.length < names.length,
  async fn() {
    const asked: string[] = [];
    let running = 0;
    let most = 0;
    await using gateway = await startTranslating(chatUpstream(), {
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
    const run = (client: CheckedClient) =>
      runBehind(gateway, {
        ...client,
        prompt: toolPrompt(client.program),
        runMs: RUN_MS,
      });
    const runs = await Promise.all(
      clients.flatMap((one) => Array.from({ length: AGENTS }, () => run(one))),
    );
    for (const { code, output, file } of runs) {
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
