import assert from "node:assert/strict";
import { OpenAI } from "../../support/sdk/sdks.ts";
import { testNeeding } from "../../support/ignored.ts";
import { bundleForNode } from "../../support/program/bundle_for_node.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { within } from "../../support/within.ts";
import { createWebHandler, TOKEN } from "./web_handler.ts";

// The gateway is a web-standard handler. Two servers that are not its own run it here.

/** The modes of a stream: the demo's family A speaks Chat Completions, its family B needs a translation. */
const WAYS = [["native", "demo-a"], ["translated", "demo-b"]] as const;

/** Streams an answer through the official SDK and asserts that it arrives whole, in several chunks. */
async function assertStreams(baseURL: string, model: string): Promise<void> {
  const client = new OpenAI({ apiKey: TOKEN, baseURL, maxRetries: 0 });
  const chunks = await Array.fromAsync(
    await client.chat.completions.create({
      model,
      stream: true,
      messages: [{ role: "user", content: "Hello" }],
    }),
  );
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const text = choices.map(({ delta }) => delta.content ?? "").join("");
  assert.match(text, /\w+ \w+/);
  assert.ok(choices.length > 3);
  assert.equal(choices.at(-1)?.finish_reason, "stop");
}

Deno.test("Deno's own server runs the gateway's handler", async (t) => {
  const handler = await createWebHandler();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    handler,
  );
  try {
    for (const [way, model] of WAYS) {
      await t.step(
        way,
        () => assertStreams(`http://127.0.0.1:${server.addr.port}/v1`, model),
      );
    }
  } finally {
    await server.shutdown();
  }
});

const folder = await Deno.makeTempDir();
const module = await bundleForNode(
  "tests/gateway/portable/node_server.ts",
  folder,
);

testNeeding("Node's server runs the gateway's handler", [
  !await hasProgram("node") && "there is no Node here",
  module === undefined && "deno bundle cannot get esbuild",
], async (t) => {
  const node = new Deno.Command("node", {
    args: [module ?? ""],
    ...{ stdin: "piped", stdout: "piped", stderr: "inherit" },
  }).spawn();
  try {
    const reader = node.stdout.getReader();
    const { value } = await within(reader.read(), "the port of the server");
    const port = Number(new TextDecoder().decode(value));
    assert.ok(port > 0);
    for (const [way, model] of WAYS) {
      await t.step(
        way,
        () => assertStreams(`http://127.0.0.1:${port}/v1`, model),
      );
    }
    await reader.cancel();
  } finally {
    await node.stdin.close();
    await node.status;
    await Deno.remove(folder, { recursive: true });
  }
});
