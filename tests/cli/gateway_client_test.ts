import assert from "node:assert/strict";
import { requestGateway } from "../../src/cli/gateway_client.ts";
import { endless } from "../support/wire/answers.ts";

function ask(answer: Response) {
  return requestGateway({ url: "http://127.0.0.1:8787/v1/models" }, {
    fetch: () => Promise.resolve(answer),
    deadline: () => new AbortController().signal,
  });
}

Deno.test("requestGateway() reads any answer", async () => {
  assert.equal((await ask(new Response("Grüße"))).text, "Grüße");
  assert.equal((await ask(new Response(""))).text, "");
  assert.equal((await ask(new Response(null))).text, "");
  assert.deepEqual((await ask(Response.json({ a: 1 }))).body, { a: 1 });
});

Deno.test("requestGateway() drops a response that is longer than any gateway's", async () => {
  const { body, cancelled } = endless();
  assert.equal((await ask(new Response(body))).text, "");
  await cancelled;
});
