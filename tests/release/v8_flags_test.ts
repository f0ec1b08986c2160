import assert from "node:assert/strict";
import { V8_FLAGS } from "../../release/v8_flags.ts";
import manifest from "../../deno.json" with { type: "json" };

Deno.test("the tasks that serve give V8 the flags of the executable", () => {
  for (const { command } of [manifest.tasks.start, manifest.tasks.demo]) {
    assert.ok(command.startsWith(`deno run ${V8_FLAGS} `), command);
  }
});
