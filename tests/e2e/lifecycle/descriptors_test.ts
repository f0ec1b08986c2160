import assert from "node:assert/strict";
import { ask, credentials, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { say } from "../../support/upstream/raw_upstream.ts";
import { until, within } from "../../support/within.ts";

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

/** Sends a request over an open connection and returns the beginning of the response. */
async function sendOver(
  connection: Deno.Conn,
  head: string,
  body = "",
): Promise<string> {
  const lines = [...head.split("\n"), "host: gateway"];
  if (body !== "") lines.push(`content-length: ${body.length}`);
  await say(connection, `${lines.join("\r\n")}\r\n\r\n${body}`);
  const buffer = new Uint8Array(65_536);
  const size = await within(connection.read(buffer), "a response");
  return new TextDecoder().decode(buffer.subarray(0, size ?? 0));
}

// A name lookup without a free descriptor reports that the name is unknown.
for (const host of ["127.0.0.1", "localhost"]) {
  Deno.test({
    name: hasShell
      ? `no free descriptor is 503 in the caller's protocol and no failure of the provider at ${host}`
      : "no free descriptor is 503 (ignored: Windows has no ulimit)",
    ignore: !hasShell,
    async fn() {
      const held = Promise.withResolvers<void>();
      await using upstream = startUpstream(async () => {
        await held.promise;
        return Response.json({});
      });
      const url = upstream.url.replace("127.0.0.1", host);
      const file = familiesFile(url, { server: { port: 0 } });
      await using gateway = await serveFile(file, {
        maxDescriptors: MAX_DESCRIPTORS,
      });
      const low = await gateway.line("descriptors_low");
      assert.ok(Number(low.descriptors) < MAX_DESCRIPTORS);
      assert.ok(Number(low.descriptors_needed) > 2048);
      const idle = await exhaust(gateway);
      const body = hello("chat");
      const head = `POST ${PATHS.chat} HTTP/1.1\n${
        Object.entries(credentials("chat")).map((one) => one.join(": "))
          .join("\n")
      }\ncontent-type: application/json`;
      const asked = idle.slice(0, 8).map((one) => sendOver(one, head, body));
      const short = await gateway.line("request");
      assert.equal(short.status, 503);
      assert.equal(short.error, "gateway_shortage");
      assert.equal(short.failure, "gateway_shortage");
      assert.equal(short.level, "error");
      const [, , , , , , , , free] = idle;
      assert.ok(free);
      const ready = await sendOver(free, "GET /readyz HTTP/1.1");
      assert.match(ready, /^HTTP\/1.1 200 /);
      assert.match(ready, /"gateway_shortage":true/);
      held.resolve();
      const answers = await Promise.all(asked);
      for (const answer of answers) {
        assert.match(answer, /^HTTP\/1.1 (200|503) /);
        if (answer.startsWith("HTTP/1.1 200")) continue;
        assert.match(answer, /retry-after: 1/);
        assert.match(answer, /"code":"gateway_shortage"/);
        assert.match(answer, /short of file descriptors/);
      }
      for (const connection of idle) connection.close();
      await gateway.line("listening_again");
      const again = gateway.url + PATHS.chat;
      assert.equal((await askOnce(again, ask("chat"))).status, 200);
      assert.deepEqual(gateway.lines("cooling_down"), []);
    },
  });
}
