import assert from "node:assert/strict";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";

/** Names that JSON must escape, of different lengths. */
const MODELS = [
  { id: "short", upstream: "a much longer name" },
  { id: 'quo"te', upstream: "back\\slash" },
  { id: "ünï🙂", upstream: "Grüße 🙂" },
  { id: "same" },
];

function fileFor({ url }: ScriptedUpstream): Record<string, unknown> {
  const endpoints = { chat: url };
  return minimalFile({
    connections: [connectionFile({ endpoints, models: MODELS })],
  });
}

/** Bodies of callers, each with the spelling of its model's name. */
const BODIES:
  readonly (readonly [body: string, written: string, name: string])[] = [
    [`{"model":"short"}`, `"short"`, "a much longer name"],
    [` {"x":1, "model" :\t"short" , "y":2}\n`, `"short"`, "a much longer name"],
    [`{"model":"sh\\u006frt"}`, `"sh\\u006frt"`, "a much longer name"],
    [`{"mod\\u0065l":"short"}`, `"short"`, "a much longer name"],
    [
      `{"x":{"model":"short"},"y":"\\"model\\":\\"short\\"","model":"short"}`,
      `"short"}$`,
      "a much longer name",
    ],
    [`{"model":"quo\\"te","z":1.0}`, `"quo\\"te"`, "back\\slash"],
    [`{"model":"ünï🙂","ö":"ü"}`, `"ünï🙂"`, "Grüße 🙂"],
    [
      `{"model":"\\u00fcn\\u00ef\\ud83d\\ude42"}`,
      `"\\u00fcn\\u00ef\\ud83d\\ude42"`,
      "Grüße 🙂",
    ],
  ];

Deno.test("a renamed model changes only the bytes of its name", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const [body, written, name] of BODIES) {
    await t.step(body, async () => {
      const response = await gateway.call(PATHS.chat, ask("chat", body));
      assert.equal(response.status, 200, await response.text());
      const isLast = written.endsWith("$");
      const old = isLast ? written.slice(0, -2) : written;
      const at = isLast ? body.lastIndexOf(old) : body.indexOf(old);
      const expected = body.slice(0, at) + JSON.stringify(name) +
        body.slice(at + old.length);
      const seen = await upstream.requests.next();
      assert.equal(seen.text(), expected);
      const line = await gateway.lines.of(response);
      assert.equal(line.upstream_model, name);
      assert.equal(line.model, JSON.parse(body).model);
    });
  }
});

Deno.test("an unchanged model name is sent as it was written, with its escapes", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  const body = `{"model":"s\\u0061me"}`;
  const response = await gateway.call(PATHS.chat, ask("chat", body));
  await response.body?.cancel();
  assert.equal((await upstream.requests.next()).text(), body);
});

Deno.test("a name is replaced in place at the end of a large body too", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  const head = `{"x":"${"ü".repeat(3_000_000)}",`;
  const response = await gateway.call(
    PATHS.chat,
    ask("chat", `${head}"model":"short"}`),
  );
  await response.body?.cancel();
  const seen = await upstream.requests.next();
  assert.ok(seen.text() === `${head}"model":"a much longer name"}`);
  assert.equal(seen.headers.get("content-length"), String(seen.body.length));
});
