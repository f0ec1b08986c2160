import assert from "node:assert/strict";
import { followAfterMs } from "../../../src/cli/server/serving.ts";

Deno.test("followAfterMs() leaves time for short requests where the platform notifies late listeners of a disconnect", () => {
  assert.equal(followAfterMs("2.7.11"), 0);
  assert.equal(followAfterMs("1.46.3"), 0);
  for (const version of ["2.9.0", "2.9.6", "2.10.0-rc.1", "3.0.0"]) {
    const ms = followAfterMs(version);
    assert.ok(ms > 0 && ms < 100, version);
  }
});

/** A server that begins to listen to its caller's leaving only when the caller has left. */
async function hearLate(): Promise<boolean> {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<boolean>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async ({ signal }) => {
      asked.resolve();
      await left.promise;
      if (signal.aborted) heard.resolve(true);
      signal.addEventListener("abort", () => heard.resolve(true));
      await heard.promise;
      return new Response(null);
    },
  );
  const caller = await Deno.connect({
    hostname: "127.0.0.1",
    port: server.addr.port,
  });
  await caller.write(
    new TextEncoder().encode("GET / HTTP/1.1\r\nhost: h\r\n\r\n"),
  );
  await asked.promise;
  caller.close();
  left.resolve();
  const timer = setTimeout(() => heard.resolve(false), 10_000);
  const isHeard = await heard.promise;
  clearTimeout(timer);
  return isHeard;
}

Deno.test("a platform for which followAfterMs() waits notifies late listeners of a disconnect", async () => {
  if (followAfterMs(Deno.version.deno) > 0) assert.ok(await hearLate());
});
