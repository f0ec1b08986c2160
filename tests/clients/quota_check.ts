import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import { startDemoGateway } from "../support/gateway/demo_gateway.ts";
import { ask } from "../support/wire/ask.ts";
import { clientNamed, runBehind, testsOf } from "./checked_client.ts";
import { chatUpstream, startTranslating } from "./upstreams.ts";

// Quotas in real clients from npm: Codex shows the remaining quota, and both clients stop when it
// is exhausted. `deno task test:clients` runs this; `deno task test` does not.

/** A client's message when it stops. */
const STOPS: Readonly<Record<string, RegExp>> = {
  "Codex CLI": /hit your usage limit\. Try again at/,
  "Claude Code":
    /429.*No more today\. It is tried again at \d{4}-\d\d-\d\d \d\d:\d\d UTC/,
};

for (const [name, stops] of Object.entries(STOPS)) {
  const program = clientNamed(name);
  (await testsOf(program))(
    "sends one request when a provider's quota is exhausted for hours, and prints the reset time",
    async (command) => {
      const asked: string[] = [];
      await using gateway = await startTranslating(chatUpstream(), {
        asked,
        spoil: () => Promise.resolve(exhausted()),
      });
      const { code, output } = await runBehind(gateway, {
        program,
        command,
        prompt: "Say hello",
        retries: 5,
      });
      assert.notEqual(code, 0, output);
      assert.match(output, stops);
      const requests = gateway.lines.requests.items
        .filter(({ model }) => model !== undefined);
      assert.equal(requests.length, 1, output);
      assert.equal(asked.length, 1, output);
    },
  );
}

const codex = clientNamed("Codex CLI");

(await testsOf(codex))(
  "shows the windows of another provider",
  async (command) => {
    await using gateway = await startDemoGateway();
    const limits = await gateway.call("/v1/limits", {
      headers: ask("chat").headers ?? {},
    });
    assert.equal(limits.status, 200, await limits.text());
    const windows: JsonObject[] = [];
    const run = await runBehind(gateway, {
      program: codex,
      command,
      prompt: "Say hello",
      model: "demo-a",
      inspect: async (home) => {
        windows.push(...await rateLimitsIn(`${home}/.codex/sessions`));
      },
    });
    assert.equal(run.code, 0, run.stderr);
    const output = JSON.stringify(windows);
    const { primary, secondary } = windows.at(-1) ?? {};
    assert.ok(isJsonObject(primary) && isJsonObject(secondary), output);
    assert.equal(primary.window_minutes, 300, output);
    assert.ok(Number(primary.used_percent) >= 0, output);
    assert.ok(Number(secondary.resets_at) * 1000 > Date.now(), output);
    assert.ok(Number(secondary.window_minutes) > 300, output);
  },
);

/** Returns a Chat Completions provider's response when a plan's window is exhausted. */
function exhausted(): Response {
  return Response.json(
    { error: { message: "No more today.", type: "rate_limit_error" } },
    { status: 429, headers: { "retry-after": "7200" } },
  );
}

/** Returns the remaining quotas in Codex's session files, in order. */
async function rateLimitsIn(folder: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await rateLimitsIn(path));
    else {found.push(
        ...(await Deno.readTextFile(path)).split("\n").flatMap(rateLimitsOf),
      );}
  }
  return found;
}

function rateLimitsOf(line: string): JsonObject[] {
  const record = parseJson(line);
  if (!isJsonObject(record) || !isJsonObject(record.payload)) return [];
  const { rate_limits } = record.payload;
  return isJsonObject(rate_limits) ? [rate_limits] : [];
}
