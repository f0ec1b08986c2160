import assert from "node:assert/strict";
import { ALICE_TOKEN, minimalFile } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { readError } from "../../support/wire/error_answer.ts";

const HINT =
  'If your token is new, choose /daemon in Codex, then "Restart background server".';

Deno.test("only the terminal interface of Codex gets a hint about the background server when a token is refused", async () => {
  await using gateway = await startGateway(minimalFile());
  const messageFor = async (headers: Record<string, string>) => {
    const response = await gateway.call("/v1/responses", {
      method: "POST",
      headers: { authorization: "Bearer wrong", ...headers },
      body: "{}",
    });
    assert.equal(response.status, 401);
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
    return (await readError(response, "responses")).message;
  };
  const plain = await messageFor({});
  assert.match(plain, /^Cannot accept this token/);
  assert.equal(
    await messageFor({ originator: "codex-tui" }),
    `${plain} ${HINT}`,
  );
  assert.equal(await messageFor({ originator: "codex_exec" }), plain);
});

Deno.test("the terminal interface of Codex gets no hint in the error of an unknown model", async () => {
  await using gateway = await startGateway(minimalFile());
  const response = await gateway.call("/v1/responses", {
    method: "POST",
    headers: {
      authorization: `Bearer ${ALICE_TOKEN}`,
      originator: "codex-tui",
    },
    body: '{"model":"nosuch","input":"hi"}',
  });
  assert.ok(
    !(await readError(response, "responses")).message.includes("/daemon"),
  );
});
