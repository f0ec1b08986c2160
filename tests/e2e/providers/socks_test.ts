import assert from "node:assert/strict";
import { familiesFile } from "../../support/gateway/families.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { startKeepAliveUpstream } from "../../support/upstream/keep_alive_upstream.ts";
import { startSocksProxy } from "../../support/upstream/socks_proxy.ts";
import { until, within } from "../../support/within.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";

Deno.test("behind a SOCKS proxy, a provider that closes kept connections sees each attempt of the log once, and no more", async () => {
  await using upstream = startKeepAliveUpstream(({ turn }) =>
    turn === 0 ? "answer" : "close"
  );
  await using proxy = startSocksProxy({
    tunnelTo: Number(new URL(upstream.url).port),
  });
  const file = familiesFile("http://provider.example", { server: { port: 0 } });
  await using gateway = await serveFile(file, {
    env: {
      ALL_PROXY: `socks5://127.0.0.1:${proxy.port}`,
      NO_PROXY: "",
      DENO_NO_UPDATE_CHECK: "1",
    },
  });
  const requests = 6;
  for (let count = 0; count < requests; count++) {
    const asked = askOnce(gateway.url + PATHS.chat, ask("chat"));
    assert.equal((await within(asked, "the answer")).status, 200);
  }
  await until(
    () => gateway.lines("request").length === requests,
    "a line for each request",
  );
  const attempts = gateway.lines("request").map(({ attempts = [0] }) =>
    Array.isArray(attempts) ? attempts.length : 0
  );
  const total = attempts.reduce((sum, count) => sum + count, 0);
  assert.ok(total > requests, `${total} attempts`);
  assert.equal(upstream.heard.length, total);
  assert.equal(proxy.requests[0]?.address, "provider.example");
});
