import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  configOf,
  loadFile,
  minimalFile,
} from "../../../support/gateway/config.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { createCachingProvider } from "../../../support/upstream/caching_provider.ts";

Deno.test("the log reports an edit in the middle of a long conversation, only in the turn with the edit", async () => {
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

Deno.test("the log blames the gateway's translation for a cache miss after the translation changed", async () => {
  const { act } = createCachingProvider();
  const connectionWith = (omit: readonly string[]) =>
    connectionTo("first", { protocol: "messages", mode: "translated" }, {
      omit,
    });
  const scene = await openScene([connectionWith([])], { first: [act] });
  const texts: string[] = [];

  async function turn(): Promise<JsonObject> {
    texts.push("lorem ipsum ".repeat(1000));
    scene.timers.advance(1000);
    const { line, text } = await scene.ask("messages", {
      tools: [{ name: "read", input_schema: { type: "object" } }],
      tool_choice: { type: "any" },
      messages: texts.map((text, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: text,
      })),
    });
    texts.push(`Answer ${text.length}`);
    return line;
  }

  let last = "";
  for (const omitted of ["", "", "tool_choice", "tool_choice"]) {
    const connections = [connectionWith(omitted === "" ? [] : [omitted])];
    const file = await loadFile(minimalFile({ connections }));
    scene.liveConfig.swap(configOf(file));
    const { cache_miss, cache_miss_at } = await turn();
    const isChanged = omitted !== last;
    assert.equal(cache_miss, isChanged ? "edited" : undefined);
    assert.equal(cache_miss_at, isChanged ? "translation" : undefined);
    last = omitted;
  }
});
