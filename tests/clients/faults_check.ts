import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import { installClient } from "./install.ts";
import { type ClientProgram, CLIENTS, toolPrompt } from "./programs.ts";
import { runClient } from "./run_client.ts";
import { FAULTS, type OneFault, spoilOnce } from "./spoiled_answer.ts";
import { startTranslating, type Upstream, upstreamsFor } from "./upstreams.ts";

// Real clients, from npm, whose model lives behind another protocol than theirs, and whose provider fails once: each
// gets over it as it does natively. `deno task test:clients` runs this; `deno task test` does not.

const MODEL = "unknown-model";

/** How often a client may ask again. */
const RETRIES = 3;

for (const program of CLIENTS) {
  const installed = await installClient(program);
  if ("reason" in installed) {
    console.warn(`${program.name} ignored: ${installed.reason}`);
  }
  const command = "command" in installed ? installed.command : [];
  for (const upstream of upstreamsFor(program)) {
    for (const fault of FAULTS) {
      Deno.test({
        name: `${program.name} ${
          program.endsAtFailure && fault.told ? "tells it" : "goes on"
        } when a provider of ${upstream.endpoint} ${fault.name}`,
        ignore: "reason" in installed,
        fn: () => check(upstream, { program, command, fault }),
      });
    }
  }
}

async function check(
  upstream: Upstream,
  { program, command, fault }: {
    readonly program: ClientProgram;
    readonly command: readonly string[];
    readonly fault: OneFault;
  },
): Promise<void> {
  const asked: string[] = [];
  await using gateway = await startTranslating(upstream, {
    model: MODEL,
    asked,
    spoil: spoilOnce(fault, upstream.endpoint),
  });
  const run = await runClient(command, {
    program,
    prompt: fault.isCall ? toolPrompt(program) : "Say hello",
    address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
    retries: RETRIES,
  });
  const told = `${run.stdout}\n${run.stderr}\n${gateway.lines.text()}`;
  if (program.endsAtFailure && fault.told) {
    assert.notEqual(run.code, 0, told);
    assert.match(run.stderr, fault.told, told);
    return;
  }
  assert.equal(run.code, 0, told);
  assert.match(run.stdout, WHOLE_ANSWER, told);
  assert.match(
    run.file("proof.txt") ?? "",
    fault.isCall ? TOOL_RAN : /^$/,
    told,
  );
  checkLog(gateway, told);
}

/**
 * The tool wrote its line. opencode runs a tool once its arguments can be read and does not wait for the call's end,
 * so that it runs it again with the next answer, natively as well.
 */
const TOOL_RAN = /^(made by the tool\n)+$/;

/** The end of what the demo says; of a prompt, or of a tool's result. */
const WHOLE_ANSWER = /no real model was asked\.\s*$/;

/**
 * One request failed, where the client could see it, and a later one did not. What a client asks beside it, as opencode
 * does for a title, may meet the rest that a 429 asks for.
 */
function checkLog({ lines }: RunningGateway, told: string): void {
  const items = lines.requests.items;
  const failed = items.findIndex(({ ended }) => ended !== "complete");
  assert.ok(failed >= 0, told);
  assert.ok(items.slice(failed + 1).length > 0, told);
  for (const [index, { ended, error }] of items.entries()) {
    if (index === failed || error === "connection_cooling_down") continue;
    assert.equal(ended, "complete", told);
  }
  assert.equal(items.at(-1)?.ended, "complete", told);
}
