import assert from "node:assert/strict";
import type { Protocol } from "../../../src/core/protocol.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  listenToEnd,
  startRawUpstream,
} from "../../support/upstream/raw_upstream.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import {
  answerWell,
  type CallerName,
  sharedFile,
  tokenOf,
} from "../../support/gateway/shared_gateway.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";

/** An upstream that fails on some texts. */
function fallOver(seen: SeenRequest): Response {
  if (!seen.text().includes("poison")) return answerWell(seen);
  const wire = WIRES[protocolOfPath(seen.path)];
  return Response.json(wire.error("api_error", "Internal error"), {
    status: 500,
  });
}

/** Starts a gateway with a stopped clock: a cool-down never ends. */
const startFrozen = (file: Readonly<Record<string, unknown>>) =>
  startGateway(file, { clock: createFakeClock(NOW_MS) });

let asked = 0;

/** Sends a request, which always succeeds, in a conversation of its own, and returns its connection. */
async function servedBy(
  gateway: RunningGateway,
  protocol: Protocol,
  { caller, model = "model-1", words = "Hello" }: {
    readonly caller: CallerName;
    readonly model?: string;
    readonly words?: string;
  },
): Promise<unknown> {
  const content = `${words} ${++asked}`;
  const said = protocol === "responses"
    ? { input: content }
    : { messages: [{ role: "user", content }] };
  const response = await gateway.call(
    PATHS[protocol],
    ask(
      protocol,
      hello(protocol, { model, ...said }),
      credentials(protocol, tokenOf(caller)),
    ),
  );
  assert.equal(response.status, 200, await response.text());
  const { connection, attempts } = await gateway.lines.of(response);
  return attempts === undefined ? connection : "both";
}

Deno.test("a connection that fails for one token cools down for it alone, until it fails for another", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const mode of ["native", "translated"] as const) {
      await t.step(`${protocol} ${mode}`, async () => {
        await using bad = startUpstream(fallOver);
        await using healthy = startUpstream(answerWell);
        const urls = { bad: bad.url, healthy: healthy.url };
        await using gateway = await startFrozen(
          sharedFile({ protocol, mode }, urls),
        );
        const asks = (caller: CallerName, words: string, model = "model-1") =>
          servedBy(gateway, protocol, { caller, words, model });
        for (let count = 0; count < 3; count++) {
          assert.equal(await asks("alice", "poison"), "both");
        }
        assert.equal(await asks("alice", "Hello"), "healthy");
        assert.equal(await asks("alice", "Hello", "model-2"), "bad");
        assert.equal(await asks("bob", "Hello"), "bad");
        for (let count = 0; count < 2; count++) {
          assert.equal(await asks("bob", "poison"), "both");
        }
        assert.equal(await asks("bob", "Hello"), "bad");
        for (const caller of ["bob", "bob", "carol"] as const) {
          assert.equal(await asks(caller, "poison"), "both");
        }
        assert.equal(await asks("bob", "Hello"), "healthy");
        assert.equal(await asks("carol", "Hello"), "healthy");
      });
    }
  }
});

Deno.test("a connection that breaks off during one token's request cools down for that token alone", async () => {
  await using bad = startRawUpstream(async (connection) => {
    const bytes = new Uint8Array(16 * 1024);
    await connection.read(bytes);
    if (new TextDecoder().decode(bytes).includes("poison")) return;
    await listenToEnd(connection);
  });
  await using healthy = startUpstream(answerWell);
  const urls = { bad: bad.url, healthy: healthy.url };
  await using gateway = await startFrozen({
    ...sharedFile({ protocol: "chat", mode: "native" }, urls),
    timeouts: { first_byte: 200 },
  });
  const asks = (caller: CallerName, words: string) =>
    servedBy(gateway, "chat", { caller, words });
  for (let count = 0; count < 3; count++) {
    assert.equal(await asks("alice", "poison"), "both");
  }
  assert.equal(await asks("alice", "Hello"), "healthy");
  assert.equal(await asks("bob", "Hello"), "both");
});

Deno.test("an unreachable connection cools down for all tokens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  await using healthy = startUpstream(answerWell);
  const urls = {
    bad: `http://127.0.0.1:${listener.addr.port}`,
    healthy: healthy.url,
  };
  await using gateway = await startFrozen(
    sharedFile({ protocol: "chat", mode: "native" }, urls),
  );
  for (let count = 0; count < 3; count++) {
    assert.equal(await servedBy(gateway, "chat", { caller: "alice" }), "both");
  }
  assert.equal(await servedBy(gateway, "chat", { caller: "bob" }), "healthy");
});
