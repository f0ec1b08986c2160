import assert from "node:assert/strict";
import { runHealth } from "../../../src/cli/commands/health.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

/** Runs `health` against something that answers as given. */
async function health(
  args: readonly string[],
  answer: () => Promise<Response> | Response,
) {
  const io = createMemoryIo();
  const asked: string[] = [];
  const code = await runHealth(args, {
    ...io,
    fetch: async (input) => {
      asked.push(String(input));
      return await answer();
    },
    deadline: () => new AbortController().signal,
  });
  return { code, asked, written: io.written(), complained: io.complained() };
}

Deno.test("health requests /readyz of this machine's or the named gateway, and ends with 0 when it is ready", async () => {
  const ready = () => new Response("ok");
  const here = await health([], ready);
  assert.deepEqual(here, {
    code: 0,
    asked: ["http://127.0.0.1:8787/readyz"],
    written: "http://127.0.0.1:8787/readyz: ready\n",
    complained: "",
  });
  const there = await health(["--url", "https://gw.test:9090/v1"], ready);
  assert.deepEqual(there.asked, ["https://gw.test:9090/readyz"]);
});

Deno.test("health rejects an invalid address, and does not repeat its password", async () => {
  for (const url of ["gw.test", "ftp://gw.test", "http://me:pw@gw.test"]) {
    const { code, asked, complained } = await health(
      ["--url", url],
      () => assert.fail("nothing is asked"),
    );
    assert.equal(code, 2);
    assert.deepEqual(asked, []);
    assert.match(complained, /--url must be the address of a gateway \(/);
    assert.doesNotMatch(complained, /pw/);
  }
});

Deno.test("health ends with 1 and prints the reason when the gateway accepts no requests", async (t) => {
  const late = new Error("signal");
  late.name = "TimeoutError";
  const cases: Readonly<Record<string, () => Promise<Response> | Response>> = {
    "the response is HTTP 503": () => new Response(null, { status: 503 }),
    "the response is HTTP 302": () =>
      Response.redirect("http://elsewhere.test"),
    "nothing answers there": () => Promise.reject(new TypeError("refused")),
    "no response came within 3 s": () => Promise.reject(late),
    "its certificate has expired": () =>
      Promise.reject(new TypeError("invalid peer certificate: Expired")),
  };
  for (const [reason, answer] of Object.entries(cases)) {
    await t.step(reason, async () => {
      const { code, written, complained } = await health([], answer);
      assert.equal(code, 1);
      assert.equal(written, "");
      assert.equal(
        complained,
        `http://127.0.0.1:8787/readyz is not ready: ${reason}.\n`,
      );
    });
  }
});

Deno.test("health rejects a text that is no address", async () => {
  for (const url of ["127.0.0.1:8787", "ftp://gw.test", "http://"]) {
    const { code, asked } = await health(["--url", url], () => new Response());
    assert.equal(code, 2);
    assert.deepEqual(asked, []);
  }
});
