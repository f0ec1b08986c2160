import assert from "node:assert/strict";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";

const MIB = 1024 * 1024;

/** Names that would be harmful in a path, in a header or in a log line. */
const ODD: Readonly<Record<string, string>> = {
  "a way up": "../../admin?x=1#y",
  "an encoded way up": "%2e%2e%2fadmin",
  "line breaks": 'a\r\nx-injected: 1\r\n\r\n{"event":"request","status":200}',
  "controls and NUL": "a\0b\x1b[31mc\u2028d",
  "1 MiB": "x".repeat(MIB),
};

/** A log line holds at most the beginning of a name. */
const MAX_LINE_BYTES = 4096;

Deno.test("a model's name is data: rejected by name, on one log line, and in no path or header", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, model] of Object.entries(ODD)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const body = hello(protocol, { model });
        const answer = await gateway.call(PATHS[protocol], ask(protocol, body));
        assert.equal(answer.headers.get("x-injected"), null);
        const { status } = await readError(answer, protocol);
        assert.equal(status, model.length < MIB ? 404 : 400);
        const line = await gateway.lines.of(answer);
        assert.equal(line.status, status);
        assert.ok(JSON.stringify(line).length < MAX_LINE_BYTES);
      });
    }
  }
  const lines = gateway.lines.text().trimEnd().split("\n");
  assert.equal(lines.length, PROTOCOLS.length * Object.keys(ODD).length);
  assert.equal(upstream.requests.items.length, 0);
});

/** Returns a history whose call has these arguments. */
function called(text: string): string {
  return hello("chat", {
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { name: "run", arguments: JSON.stringify({ path: text }) },
        }],
      },
      { role: "tool", tool_call_id: "call_1", content: text },
    ],
  });
}

Deno.test("a tool's arguments and result are data, natively and translated", async (t) => {
  await using upstream = startUpstream(({ path }) =>
    Response.json(WIRES[protocolOfPath(path)].answer)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, text] of Object.entries(ODD)) {
    for (const model of ["model-a", "model-b"]) {
      await t.step(`${model}: ${name}`, async () => {
        const body = JSON.stringify({ ...JSON.parse(called(text)), model });
        const answer = await gateway.call(PATHS.chat, ask("chat", body));
        await answer.body?.cancel();
        assert.equal(answer.status, 200);
        const seen = upstream.requests.items.at(-1) ?? assert.fail();
        assert.match(seen.path, /^\/[ab]\/(chat\/completions|messages)$/);
        assert.equal(seen.headers.get("x-injected"), null);
        assert.ok(seen.text().includes(JSON.stringify(text).slice(1, -1)));
        const line = await gateway.lines.of(answer);
        assert.ok(JSON.stringify(line).length < MAX_LINE_BYTES);
      });
    }
  }
});
