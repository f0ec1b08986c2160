import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { openScene } from "../../support/gateway/failover_scene.ts";
import { type Act, good, status } from "../../support/upstream/bad_provider.ts";
import { chatToolsBesideReasoning } from "../../support/upstream/refusals.ts";
import { WIRES } from "../../support/wire/wire.ts";

// Chat Completions with tools, for a model that OpenAI and Azure serve with both tools and reasoning only in
// Responses.

/** Refuses the requests that OpenAI refuses, and answers all others. */
const strict: Act = (one) => {
  const isChat = one.wire === WIRES.chat;
  const url = isChat ? "/chat/completions" : "/responses";
  const refusal = chatToolsBesideReasoning({
    url,
    headers: new Headers(),
    body: one.body,
  });
  return refusal === undefined
    ? good(one)
    : status(400, { message: refusal })(one);
};

const PARAMETERS = { type: "object", properties: {} };
const TOOLS: Readonly<Record<string, JsonObject>> = {
  "tools": {
    tools: [{
      type: "function",
      function: { name: "f", parameters: PARAMETERS },
    }],
  },
  "legacy functions": { functions: [{ name: "f", parameters: PARAMETERS }] },
  "an empty list of tools": { tools: [] },
  "no tools": {},
};

const SERVICES = [
  ["openai-chat", "api.openai.com", {}],
  ["azure-chat", "team.openai.azure.com", { resource: "team" }],
] as const;

for (const [service, host, options] of SERVICES) {
  for (const [tools, fields] of Object.entries(TOOLS)) {
    for (const effort of ["none", "high", undefined]) {
      for (const stream of [false, true]) {
        Deno.test(`${service} serves a Chat Completions caller of gpt-6.1-sol with ${tools} and effort ${effort}${stream ? " as a stream" : ""}`, async () => {
          const scene = await openScene([{
            name: "one",
            service,
            ...options,
            auth: { key: "key" },
            models: ["gpt-6.1-sol"],
          }], { [host]: [strict] });
          const { status, text } = await scene.ask("chat", {
            model: "gpt-6.1-sol",
            stream,
            ...fields,
            ...effort !== undefined && { reasoning_effort: effort },
          });
          assert.equal(status, 200, text);
          assert.match(
            text,
            stream ? /chat\.completion\.chunk/ : /"chat\.completion"/,
          );
          const [one] = scene.providers.asked;
          const hasTools = tools === "tools" || tools === "legacy functions";
          const isMoved = hasTools && effort !== "none";
          assert.equal(one?.wire, isMoved ? WIRES.responses : WIRES.chat);
        });
      }
    }
  }
}
