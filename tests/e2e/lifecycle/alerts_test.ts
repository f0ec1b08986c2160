import assert from "node:assert/strict";
import { familiesFile } from "../../support/gateway/families.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { serveFile } from "../../support/gateway/serve.ts";
import { testNeeding } from "../../support/ignored.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { until, within } from "../../support/within.ts";

const isWindows = Deno.build.os === "windows" && "Windows has no such signals";

/** Serves a gateway whose caller has used up a limit, so that three alerts wait. */
async function serveFull(
  urls: { readonly upstream: string; readonly receiver: string },
  workers: number,
) {
  const gateway = await serveFile(familiesFile(urls.upstream, {
    server: { port: 0, workers, drain_seconds: 20 },
    alerts: { webhook: `${urls.receiver}/secret-path` },
    tokens: [tokenFile({ limits: [{ window: "month", requests: 1 }] })],
  }));
  const response = await fetch(gateway.url + PATHS.chat, ask("chat"));
  await response.text();
  return gateway;
}

for (const workers of Deno.build.os === "linux" ? [1, 2] : [1]) {
  testNeeding(
    `alerts that wait for their next try are sent at SIGTERM, with ${workers} threads`,
    isWindows,
    async () => {
      await using upstream = startUpstream();
      const texts: string[] = [];
      let isBusy = true;
      await using receiver = startUpstream((seen) => {
        if (isBusy) {
          const headers = { "retry-after": "240" };
          return new Response(null, { status: 503, headers });
        }
        texts.push(seen.text());
        return new Response();
      });
      const urls = { upstream: upstream.url, receiver: receiver.url };
      await using gateway = await serveFull(urls, workers);
      await receiver.requests.next();
      isBusy = false;
      gateway.kill("SIGTERM");
      assert.equal((await within(gateway.ended, "the exit")).code, 0);
      const thresholds = texts.map((text) => JSON.parse(text).threshold);
      assert.deepEqual(thresholds, [80, 90, 100]);
      assert.deepEqual(gateway.lines("alert_lost"), []);
      assert.doesNotMatch(gateway.output(), /secret-path/);
    },
  );

  testNeeding(
    `a receiver that hangs holds no process, and its alerts are named as lost, with ${workers} threads`,
    isWindows,
    async () => {
      const gate = Promise.withResolvers<Response>();
      await using upstream = startUpstream();
      await using receiver = startUpstream(() => gate.promise);
      const urls = { upstream: upstream.url, receiver: receiver.url };
      await using gateway = await serveFull(urls, workers);
      await receiver.requests.next();
      gateway.kill("SIGTERM");
      assert.equal((await within(gateway.ended, "the exit")).code, 0);
      await until(() => gateway.lines("stopped").length > 0, "the last line");
      const lost = gateway.lines("alert_lost");
      assert.deepEqual(
        lost.map(({ reason }) => reason),
        Array(3).fill("the gateway ended"),
      );
      gate.resolve(new Response());
    },
  );
}
