import assert from "node:assert/strict";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { within } from "../../support/within.ts";

const CONNECTIONS = 300;

const REQUEST =
  `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n\r\n`;

Deno.test(`${CONNECTIONS} idle connections delay no other, may send at any time, and delay no stop`, async () => {
  await using upstream = startUpstream();
  await using gateway = await serveFile(
    familiesFile(upstream.url, { server: { port: 0 } }),
  );
  const port = Number(new URL(gateway.url).port);
  using idle = new DisposableStack();
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(port)),
  );
  for (const socket of sockets) idle.use(socket);
  const askAll = async (asking: typeof sockets) => {
    for (const socket of asking) await socket.write(REQUEST);
    const answers = await Promise.all(asking.map((one) => one.answer()));
    const good = answers.filter(({ status }) => status === 200);
    assert.equal(good.length, asking.length);
  };
  // One half has sent a request before and keeps its connection, the other has sent nothing.
  await askAll(sockets.slice(CONNECTIONS / 2));
  const url = gateway.url + PATHS.chat;
  assert.equal((await askOnce(url, ask("chat"))).status, 200);
  await askAll(sockets);
  gateway.kill("SIGTERM");
  assert.equal((await within(gateway.ended, "the end")).code, 0);
});
