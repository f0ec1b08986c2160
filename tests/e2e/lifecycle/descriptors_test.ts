import assert from "node:assert/strict";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { until } from "../../support/within.ts";

/** Enough for the program and some connections. */
const MAX_DESCRIPTORS = 64;

/** Opens idle connections until no descriptors remain. */
async function exhaust(gateway: ServedGateway): Promise<Deno.Conn[]> {
  const port = Number(new URL(gateway.url).port);
  const idle: Deno.Conn[] = [];
  await until(async () => {
    const connecting = Deno.connect({ hostname: "127.0.0.1", port });
    const connection = await connecting.catch(() => undefined);
    if (connection !== undefined) idle.push(connection);
    return gateway.lines("listener_lost").length > 0;
  }, "the descriptors to run out");
  return idle;
}

const hasShell = Deno.build.os !== "windows";

for (const workers of Deno.build.os === "linux" ? [1, 2] : [1]) {
  Deno.test({
    name: hasShell
      ? `a gateway that ran out of descriptors serves again when some are free, with ${workers} workers`
      : "a gateway that ran out of descriptors serves again (ignored: Windows has no ulimit)",
    ignore: !hasShell,
    async fn() {
      await using upstream = startUpstream();
      const file = familiesFile(upstream.url, { server: { port: 0, workers } });
      await using gateway = await serveFile(file, {
        maxDescriptors: MAX_DESCRIPTORS,
      });
      const url = gateway.url + PATHS.chat;
      assert.equal((await askOnce(url, ask("chat"))).status, 200);
      const idle = await exhaust(gateway);
      assert.ok(idle.length > 5, `${idle.length} connections were taken`);
      for (const connection of idle) connection.close();
      await until(
        () =>
          askOnce(url, ask("chat")).then(
            ({ status }) => status === 200,
            () => false,
          ),
        "the gateway to serve again",
      );
      await gateway.line("listening_again");
      gateway.kill("SIGTERM");
      assert.equal((await gateway.ended).code, 0);
    },
  });
}
