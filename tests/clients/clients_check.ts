import assert from "node:assert/strict";
import { systemClock } from "../../src/core/clock.ts";
import { randomIds } from "../../src/core/ids.ts";
import type { Family, Protocol } from "../../src/core/protocol.ts";
import { createDemoUpstream } from "../../src/demo/upstream.ts";
import type { Fetch } from "../../src/upstream/call.ts";
import { ALICE_TOKEN, connectionFile, minimalFile } from "../support/config.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { installClient } from "./install.ts";
import { type ClientProgram, CLIENTS } from "./programs.ts";
import { runClient } from "./run_client.ts";

// Real clients, from npm, whose model lives behind another protocol than theirs: one prompt and one tool loop each.
// `deno task test:clients` runs this; `deno task test` does not.

/** An upstream that speaks one protocol alone. */
interface Upstream {
  readonly family: Family;
  /** The only path that it serves. */
  readonly path: string;
  readonly endpoint: Protocol;
}

const UPSTREAMS: readonly Upstream[] = [
  { family: "A", endpoint: "chat", path: "/v1/chat/completions" },
  { family: "B", endpoint: "messages", path: "/v1/messages" },
  { family: "C", endpoint: "responses", path: "/v1/responses" },
];

for (const program of CLIENTS) {
  const installed = await installClient(program.source);
  if ("reason" in installed) {
    console.warn(`${program.name} ignored: ${installed.reason}`);
  }
  for (const upstream of upstreamsFor(program)) {
    Deno.test({
      name:
        `${program.name} works on a model whose provider speaks ${upstream.endpoint} alone`,
      ignore: "reason" in installed,
      async fn(t) {
        const path = "path" in installed ? installed.path : "";
        await t.step("a prompt is answered", () =>
          check(upstream, {
            program,
            path,
            prompt: "Say hello",
            text: /You said: ".*Say hello/s,
          }));
        await t.step(
          "a tool is called and its result comes back",
          () =>
            check(upstream, {
              program,
              path,
              prompt: toolPrompt(program),
              text: /The tool \w+ returned: .*made by the tool/s,
              proof: "made by the tool\n",
            }),
        );
      },
    });
  }
}

const codex = CLIENTS.find(({ name }) => name === "Codex CLI");
const installedCodex = codex === undefined
  ? { reason: "it is not in the list" }
  : await installClient(codex.source);

Deno.test({
  name:
    "Codex CLI edits files with its custom tool on a model whose provider has function tools alone",
  ignore: "reason" in installedCodex,
  async fn() {
    assert.ok(codex !== undefined && "path" in installedCodex);
    const [upstream] = UPSTREAMS;
    assert.ok(upstream !== undefined);
    const patch =
      "*** Begin Patch\n*** Add File: proof.txt\n+made by the tool\n*** End Patch\n";
    await check(upstream, {
      program: codex,
      path: installedCodex.path,
      prompt: `Use apply_patch with ${JSON.stringify({ input: patch })}`,
      text: /The tool apply_patch returned: /,
      proof: "made by the tool\n",
      model: "gpt-5.5",
    });
  },
});

/** The routes that the gateway translates (docs/design.md#paths). */
function upstreamsFor({ protocol }: ClientProgram): readonly Upstream[] {
  return UPSTREAMS.filter(({ endpoint }) =>
    protocol === "chat" ? endpoint !== "chat" : endpoint === "chat"
  );
}

/** The demo calls the tool that it is told to use, with the object in the prompt. */
function toolPrompt({ shell }: ClientProgram): string {
  const input = {
    [shell.argument]: "echo made by the tool > proof.txt; cat proof.txt",
    description: "Writes a file",
  };
  return `Use ${shell.tool} with ${JSON.stringify(input)}`;
}

/** One run of a client, and what must come of it. */
interface Check {
  readonly program: ClientProgram;
  readonly path: string;
  readonly prompt: string;
  /** The client's final text. */
  readonly text: RegExp;
  /** What the tool wrote. */
  readonly proof?: string;
  /** A model by whose name the client knows more; default: one that no client knows. */
  readonly model?: string;
}

async function check(
  upstream: Upstream,
  { program, path, prompt, text, proof, model = "unknown-model" }: Check,
): Promise<void> {
  const asked: string[] = [];
  await using gateway = await startTranslating(upstream, { model, asked });
  const run = await runClient(path, {
    program,
    prompt,
    address: { url: gateway.url, token: ALICE_TOKEN, model },
  });
  const told = `${run.stdout}\n${run.stderr}\n${gateway.lines.text()}`;
  assert.equal(run.code, 0, told);
  assert.match(run.stdout, text, told);
  assert.equal(run.file("proof.txt"), proof, told);
  assert.ok(asked.length > 0);
  for (const one of asked) assert.equal(one, upstream.path);
  checkLog(gateway);
}

/** Every request was translated and ended well. */
function checkLog({ lines }: RunningGateway): void {
  assert.deepEqual(lines.others.items, []);
  const relayed = lines.requests.items.filter(({ model }) =>
    model !== undefined
  );
  assert.ok(relayed.length > 0);
  for (const line of lines.requests.items) {
    assert.equal(line.status, 200, JSON.stringify(line));
    assert.equal(line.ended, "complete", JSON.stringify(line));
  }
  for (const line of relayed) assert.equal(line.mode, "translated");
}

/** A gateway in front of the demo's provider of a family, with nothing but its one endpoint. */
function startTranslating(
  { family, endpoint }: Upstream,
  { model, asked }: { readonly model: string; readonly asked: string[] },
): Promise<RunningGateway> {
  const letter = family.toLowerCase();
  const demo = createDemoUpstream({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const fetch: Fetch = (url, init) => {
    asked.push(new URL(url).pathname);
    return demo(url, init);
  };
  const connection = connectionFile({
    family,
    endpoints: { [endpoint]: `https://demo-${letter}.invalid/v1` },
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: `demo-key-${letter}`,
    },
    models: [{ id: model, upstream: `demo-${letter}` }],
  });
  return startGateway(minimalFile({ connections: [connection] }), { fetch });
}
