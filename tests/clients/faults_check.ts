import assert from "node:assert/strict";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import { type CheckedClient, runBehind, testsOf } from "./checked_client.ts";
import { CLIENTS, toolPrompt } from "./programs.ts";
import { FAULTS, type OneFault, spoilOnce } from "./spoiled_answer.ts";
import { startTranslating, type Upstream, upstreamsFor } from "./upstreams.ts";

// Real clients from npm, each with a model of another protocol and a provider that fails once. Each must recover as it
// does natively. `deno task test:clients` runs this; `deno task test` does not.

/** The most retries of a client. */
const RETRIES = 3;

/**
 * The longest time of a run, in milliseconds. Qwen Code waits a minute before it repeats a broken stream; a busy
 * machine needs as much again.
 */
const RUN_MS = 290_000;

for (const program of CLIENTS) {
  const test = await testsOf(program);
  for (const upstream of upstreamsFor(program)) {
    for (const fault of FAULTS) {
      const isEnd = program.endsAtFailure && fault.printed;
      test(
        `${
          isEnd ? "reports it" : "continues"
        } when a provider of ${upstream.endpoint} ${fault.name}`,
        (command) => check(upstream, { program, command, fault }),
      );
    }
  }
}

async function check(
  upstream: Upstream,
  { program, command, fault }: CheckedClient & { readonly fault: OneFault },
): Promise<void> {
  const spoil = spoilOnce(fault, upstream.endpoint);
  await using gateway = await startTranslating(upstream, { spoil });
  const run = await runBehind(gateway, {
    program,
    command,
    prompt: fault.isCall ? toolPrompt(program) : "Say hello",
    retries: RETRIES,
    runMs: RUN_MS,
  });
  const { output } = run;
  if (program.endsAtFailure && fault.printed) {
    assert.notEqual(run.code, 0, output);
    assert.match(run.stderr, fault.printed, output);
    return;
  }
  assert.equal(run.code, 0, output);
  assert.match(run.stdout, WHOLE_ANSWER, output);
  // The demo answers the last message alone, so it does not call the tool again.
  const isResumed = RESUMED.test(run.stdout);
  assert.match(
    run.file("proof.txt") ?? "",
    fault.isCall && !isResumed ? TOOL_RAN : /^$/,
    output,
  );
  checkLog(gateway, output);
}

/**
 * The tool wrote its line. opencode runs a tool as soon as its arguments are complete, without
 * waiting for the end of the call. It then runs the tool again with the next answer, also natively.
 */
const TOOL_RAN = /^(made by the tool\n)+$/;

/** Claude Code's request to continue, which it sends when it keeps the thinking before a broken call. */
const RESUMED = /cut off mid-stream\. Resume directly from where it stops/;

/** The end of the demo's answer to a prompt or to a tool's result. */
const WHOLE_ANSWER = /no real model was asked\.\s*$/;

/**
 * Asserts that one request failed visibly for the client, and a later one succeeded. A side
 * request, such as opencode's for a title, may meet the cool-down after a 429.
 */
function checkLog({ lines }: RunningGateway, output: string): void {
  const items = lines.requests.items;
  const failed = items.findIndex(({ ended }) => ended !== "complete");
  assert.ok(failed >= 0, output);
  assert.ok(items.slice(failed + 1).length > 0, output);
  for (const [index, { ended, error }] of items.entries()) {
    if (index === failed || error === "connection_cooling_down") continue;
    assert.equal(ended, "complete", output);
  }
  assert.equal(items.at(-1)?.ended, "complete", output);
}
