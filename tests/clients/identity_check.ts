import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../src/base/time/timers.ts";
import { createSigner } from "../support/gateway/identity_scene.ts";
import { runBehind, testsOf } from "./checked_client.ts";
import { CLIENTS, toolPrompt } from "./programs.ts";
import { claimsFor, SEEN_FAILURES } from "./seen_failures.ts";
import { chatUpstream, startTranslating } from "./upstreams.ts";

// Real clients from npm whose settings run a command for the token of an identity provider (docs/identity.md#clients).
// `deno task test:clients` runs this; `deno task test` does not.

/** The lifetime of a token, and the time that passes after the first answer. */
const LIFE_SECONDS = 600;
const PASSES_MS = 3_600_000;

const names = SEEN_FAILURES["The command for your token fails"]?.clients ?? [];

for (const program of CLIENTS.filter(({ name }) => names.includes(name))) {
  (await testsOf(program))(
    "runs its token command again when the token expires in a session, and continues",
    async (command) => {
      const folder = await Deno.makeTempDir();
      const signer = await createSigner();
      const passed = { ms: 0 };
      const clock: Clock = {
        ...systemClock,
        now: () => systemClock.now() + passed.ms,
      };
      const issue = async () =>
        await Deno.writeTextFile(
          `${folder}/token`,
          await signer.sign(claimsFor(LIFE_SECONDS, clock.now())),
        );
      await issue();
      try {
        await using gateway = await startTranslating(chatUpstream(), {
          signer,
          clock,
          async spoil(answer) {
            if (passed.ms === 0) {
              passed.ms = PASSES_MS;
              await issue();
            }
            return answer;
          },
        });
        const run = await runBehind(gateway, {
          program,
          command,
          prompt: toolPrompt(program),
          token: "",
          // The redirection needs a shell.
          tokenCommand: `cat < ${folder}/token`,
          retries: 2,
        });
        const { output } = run;
        assert.equal(run.code, 0, output);
        assert.equal(run.file("proof.txt"), "made by the tool\n", output);
        const { items } = gateway.lines.requests;
        const refused = items.filter(({ status }) => status !== 200);
        assert.ok(refused.length > 0, output);
        for (const { error } of refused) assert.equal(error, "token_expired");
        assert.equal(items.at(-1)?.status, 200, output);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  );
}
