import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { createCachingProvider } from "../../../support/upstream/caching_provider.ts";

Deno.test("an edit far behind the beginning is found in each turn, and a turn without one is not dear", async () => {
  const connection = connectionTo("first", {
    protocol: "messages",
    mode: "native",
  });
  const { act } = createCachingProvider();
  const scene = await openScene([connection], { first: [act] });
  const texts = ["a", "b", "c", "d", "e"];

  async function turn(): Promise<JsonObject> {
    texts.push("lorem ipsum ".repeat(1000), "Go on.");
    scene.timers.advance(1000);
    const mark = { cache_control: { type: "ephemeral" } };
    const { line } = await scene.ask("messages", {
      messages: texts.map((text, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: index < texts.length - 1
          ? text
          : [{ type: "text", text, ...mark }],
      })),
    });
    return line;
  }

  for (const edited of [undefined, undefined, 5, 5, undefined, undefined, 5]) {
    if (edited !== undefined) texts[edited] += "!";
    const { cache_miss, cache_miss_at } = await turn();
    assert.equal(cache_miss, edited && "edited", `${texts.length} messages`);
    assert.equal(cache_miss_at, edited && `messages[${edited}]`);
  }
});
