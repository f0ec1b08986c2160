import assert from "node:assert/strict";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";

const MAIN = [
  "run",
  "--allow-net",
  "--allow-read",
  "--allow-env",
  fromFileUrl(new URL("../../../src/main.ts", import.meta.url)),
];

Deno.test("limits draws the demo's quotas, from a program of its own", async () => {
  const demo = await startProcess(Deno.execPath(), {
    args: [...MAIN, "demo", "--port", "0"],
  });
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...MAIN, "limits", "--url", `${demo.url}/v1`],
      env: { MODEL_GATEWAY_TOKEN: "demo-token", NO_COLOR: "1" },
    }).output();
    const drawn = new TextDecoder().decode(stdout);
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.match(
      drawn,
      /^Your token .*\n +1 day tokens +█+ +5,000,000 of 5,000,000 left/,
    );
    assert.match(drawn, /^Demo A {2}other provider, checked /m);
    assert.match(
      drawn,
      /1 week credits +█+░+ +[\d,]+ of 10,000 left +[\d.]+% used/,
    );
    assert.match(drawn, /^Demo C {2}/m);
  } finally {
    demo.kill("SIGTERM");
    await demo.ended;
  }
});
