import assert from "node:assert/strict";
import { needing } from "../../support/ignored.ts";

const MODULE =
  new URL("../../../src/cli/server/signals.ts", import.meta.url).href;

/** Says what it hears, each in a line; ends after two signals to stop. */
const PROGRAM = `
  import { nextStopSignal, onHangup } from ${JSON.stringify(MODULE)};
  onHangup(() => console.log("hangup"));
  const first = nextStopSignal();
  console.log("ready");
  await first;
  const second = nextStopSignal();
  console.log("first");
  await second;
  console.log("second");
  Deno.exit(0);
`;

Deno.test({
  ...needing(
    "nextStopSignal() takes one signal each, and onHangup() every SIGHUP",
    Deno.build.os === "windows" && "Windows has no such signals",
  ),
  async fn() {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", PROGRAM],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let said = "";
    const hear = async (line: string) => {
      while (!said.endsWith(`${line}\n`)) {
        const { done, value = "" } = await lines.read();
        assert.ok(!done, `it ended, having said ${said}`);
        said += value;
      }
      said = "";
    };
    await hear("ready");
    child.kill("SIGHUP");
    await hear("hangup");
    child.kill("SIGHUP");
    await hear("hangup");
    child.kill("SIGTERM");
    await hear("first");
    child.kill("SIGINT");
    await hear("second");
    await lines.cancel();
    assert.equal((await child.status).code, 0);
  },
});

/** Throws in every way that nobody catches. */
const FAILING_PROGRAM = `
  import { reportUncaught } from ${JSON.stringify(MODULE)};
  reportUncaught((error) => console.log(error));
  queueMicrotask(() => { throw new TypeError("canary"); });
  setTimeout(() => Promise.reject(new RangeError("canary")));
  setTimeout(() => Promise.reject("canary"));
`;

Deno.test("reportUncaught() prints the class of an uncaught error, and nothing of its message", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", FAILING_PROGRAM],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(decoder.decode(stdout), "TypeError\nRangeError\nstring\n");
  assert.doesNotMatch(decoder.decode(stderr), /canary/);
  assert.equal(code, 0);
});
