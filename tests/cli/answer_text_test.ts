import assert from "node:assert/strict";
import { answerText } from "../../src/cli/gateway_client.ts";
import { endless } from "../support/wire/answers.ts";

Deno.test("answerText() reads an answer, whatever it holds", async () => {
  assert.equal(await answerText(new Response("Grüße")), "Grüße");
  assert.equal(await answerText(new Response("")), "");
  assert.equal(await answerText(new Response(null)), "");
});

Deno.test("answerText() gives up an answer that is longer than any gateway's", async () => {
  const { body, cancelled } = endless();
  assert.equal(await answerText(new Response(body)), undefined);
  await cancelled;
});
