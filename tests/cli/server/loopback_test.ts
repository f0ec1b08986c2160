import assert from "node:assert/strict";
import { loopBack } from "../../../src/cli/server/loopback.ts";
import {
  listenToEnd,
  say,
  startRawUpstream,
  type Talk,
} from "../../support/upstream/raw_upstream.ts";
import { within } from "../../support/within.ts";

/** Connects with a server through a connection of this machine. */
async function connectTo(talk: Talk) {
  const upstream = startRawUpstream(talk);
  const port = Number(new URL(upstream.url).port);
  const far = await Deno.connect({ hostname: "127.0.0.1", port });
  const near = await loopBack(far);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      try {
        near.close();
      } catch {
        // The test has closed it.
      }
      await upstream[Symbol.asyncDispose]();
    },
  };
}

async function readText(connection: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1024);
  for (let text = "";;) {
    const size = await connection.read(buffer).catch(() => null);
    if (size === null) return text;
    text += decoder.decode(buffer.subarray(0, size));
  }
}

Deno.test("an answer arrives whole although its sender reads nothing more and closes", async () => {
  for (let round = 0; round < 20; round++) {
    await using scene = await connectTo((connection) =>
      say(connection, "an early answer")
    );
    // The server cuts it off somewhere.
    const sending = say(scene.near, "x".repeat(3_000_000)).catch(() => {});
    const text = await within(readText(scene.near), "the answer");
    assert.equal(text, "an early answer");
    scene.near.close();
    await within(sending, "the end of the upload");
  }
});

Deno.test("the end of either side ends the other", async (t) => {
  await t.step("the gateway closes", async () => {
    const closed = Promise.withResolvers<void>();
    await using scene = await connectTo(async (connection) => {
      await listenToEnd(connection);
      closed.resolve();
    });
    await say(scene.near, "hello");
    scene.near.close();
    await within(closed.promise, "the server to see it");
  });
  await t.step("the server closes", async () => {
    await using scene = await connectTo(() => {});
    await say(scene.near, "hello");
    assert.equal(await within(readText(scene.near), "the end"), "");
  });
  await t.step("the far connection is given up", async () => {
    await using scene = await connectTo((connection) =>
      listenToEnd(connection)
    );
    await say(scene.near, "hello");
    scene.far.close();
    assert.equal(await within(readText(scene.near), "the end"), "");
  });
});
