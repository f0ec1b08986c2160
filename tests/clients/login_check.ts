import assert from "node:assert/strict";
import { runLogin } from "../../src/tools/login/command.ts";
import { openLogin } from "../../src/tools/login/kept_login.ts";
import { createMemoryIo } from "../support/fakes/memory_io.ts";
import { minimalFile } from "../support/gateway/config.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { identityFile } from "../support/gateway/identity_scene.ts";
import { testNeeding } from "../support/ignored.ts";
import { fromFileUrl } from "../support/program/paths.ts";
import { startProcess } from "../support/program/process.ts";
import { assertKeyless, openKeyless } from "../e2e/keyless/keyless_scene.ts";
import { clientNamed } from "./checked_client.ts";
import { installClient } from "./install.ts";
import { KEYS, startTerminal } from "./terminal.ts";

// The certified issuer of npm's `oidc-provider` judges the device flow, the renewal and Claude Code's sign-in
// (docs/identity.md#clients). `deno task test:clients` runs this; `deno task test` does not.

const installed = await installClient({
  source: {
    name: "oidc-provider",
    version: "9.13.3",
    executable: "oidc-provider/package.json",
  },
});

const SCRIPT = fromFileUrl(
  new URL("../fixtures/servers/oidc_issuer.mjs", import.meta.url),
);

/** The lifetime of a token, in seconds. */
const LIFE_S = 900;

/** Signs a person in with a simulated browser, which keeps cookies and submits each page's form. */
async function confirm(url: string): Promise<void> {
  const cookies = new Map<string, string>();
  let next: [string, RequestInit] = [url, {}];
  for (let pages = 0; pages < 20; pages++) {
    const [address, init] = next;
    const response = await fetch(address, {
      ...init,
      redirect: "manual",
      headers: {
        cookie: [...cookies].map((pair) => pair.join("=")).join("; "),
      },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get("location");
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (location !== null) next = [new URL(location, address).href, {}];
    else if (action === undefined) {
      return assert.equal(response.status, 200, page);
    } else {
      const fields = new URLSearchParams({ login: "alice", password: "a" });
      for (const [input] of page.matchAll(/<input[^>]*>/g)) {
        const name = / name="([^"]+)"/.exec(input)?.[1];
        const value = / value="([^"]*)"/.exec(input)?.[1];
        if (name !== undefined && value !== undefined) fields.set(name, value);
      }
      next = [new URL(action, address).href, { method: "POST", body: fields }];
    }
  }
  assert.fail("the pages do not end");
}

testNeeding(
  "a certified issuer accepts the login, its renewal and the sign-in at the gateway",
  "reason" in installed && installed.reason,
  async () => {
    const [path = ""] = "command" in installed ? installed.command : [];
    const issuer = await startProcess("node", {
      args: [SCRIPT, path.replace("/package.json", ""), `${LIFE_S}`],
    });
    const folder = await Deno.makeTempDir();
    await using gateway = await startGateway(minimalFile({
      identity: [
        identityFile({
          issuer: issuer.url,
          jwks_url: undefined,
          sign_in: { client: "people" },
        }),
      ],
    }));
    const statusOf = async (token: string) => {
      const response = await gateway.call("/v1/models", {
        headers: { authorization: `Bearer ${token.trim()}` },
      });
      await response.body?.cancel();
      return response.status;
    };
    let passedMs = 0;
    const opened: Promise<void>[] = [];
    const login = async () => {
      const io = createMemoryIo({ XDG_STATE_HOME: folder });
      const code = await runLogin(
        ["--issuer", issuer.url, "--client", "people"],
        {
          ...io,
          ...{ fetch, deadline: AbortSignal.timeout, open: openLogin },
          now: () => Date.now() + passedMs,
          isTyped: () => true,
          writeError(text) {
            const [, url = ""] = /^Open (\S+) /.exec(text) ?? [];
            opened.push(confirm(url));
          },
          // The person confirms before the first poll.
          wait: () => Promise.all(opened).then(() => {}),
        },
      );
      assert.equal(code, 0, io.complained());
      return io.written();
    };
    try {
      const first = await login();
      assert.equal(await statusOf(first), 200);
      assert.equal(await login(), first);
      passedMs = LIFE_S * 1000;
      const renewed = await login();
      assert.notEqual(renewed, first);
      assert.equal(await statusOf(renewed), 200);
      passedMs *= 2;
      assert.notEqual(
        await login(),
        renewed,
        "the rotated refresh token works",
      );
      assert.equal(opened.length, 1, "one sign-in");

      const post = async (path: string, fields: Record<string, string>) => {
        const body = new URLSearchParams(fields);
        const response = await gateway.call(path, { method: "POST", body });
        return { status: response.status, body: await response.json() };
      };
      const device = await post("/oauth/device_authorization", {});
      assert.equal(device.status, 200, JSON.stringify(device.body));
      const poll = {
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: device.body.device_code,
      };
      const waiting = await post("/oauth/token", poll);
      assert.deepEqual([waiting.status, waiting.body.error], [
        400,
        "authorization_pending",
      ]);
      await confirm(device.body.verification_uri_complete);
      const { body: tokens } = await post("/oauth/token", poll);
      assert.equal(tokens.expires_in, LIFE_S);
      assert.equal(await statusOf(tokens.access_token), 200);
      const refresh = {
        grant_type: "refresh_token",
        refresh_token: tokens.refresh_token,
      };
      const { body: newer } = await post("/oauth/token", refresh);
      assert.equal(await statusOf(newer.access_token), 200);
      const again = await post("/oauth/token", refresh);
      assert.deepEqual([again.status, again.body.error], [
        401,
        "invalid_grant",
      ]);
    } finally {
      issuer.kill("SIGKILL");
      await issuer.ended;
      await Deno.remove(folder, { recursive: true });
    }
  },
);

/** Responds to a Messages request. */
function answerMessages(isStreamed: boolean): Response {
  const message = {
    ...{
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "model-anthropic",
    },
    usage: { input_tokens: 1, output_tokens: 2 },
    ...{ stop_reason: null, stop_sequence: null, content: [] },
  };
  const text = { type: "text", text: "Signed in." };
  const events = [
    { type: "message_start", message },
    {
      ...{ type: "content_block_start", index: 0 },
      content_block: { type: "text", text: "" },
    },
    {
      ...{ type: "content_block_delta", index: 0 },
      delta: { type: "text_delta", text: text.text },
    },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 2 },
    },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return isStreamed
    ? new Response(events.join(""), {
      headers: { "content-type": "text/event-stream" },
    })
    : Response.json({ ...message, content: [text], stop_reason: "end_turn" });
}

const installedClaude = await installClient(clientNamed("Claude Code"));

testNeeding(
  "Claude Code signs in at the gateway without a secret, and gets an answer",
  [
    "reason" in installed && installed.reason,
    "reason" in installedClaude && installedClaude.reason,
  ],
  async () => {
    const [path = ""] = "command" in installed ? installed.command : [];
    const [program = "", ...before] = "command" in installedClaude
      ? installedClaude.command
      : [];
    const issuer = await startProcess("node", {
      args: [SCRIPT, path.replace("/package.json", ""), `${LIFE_S}`],
    });
    const home = await Deno.makeTempDir();
    await using scene = await openKeyless({
      issuers: [
        identityFile({
          issuer: issuer.url,
          jwks_url: undefined,
          sign_in: { client: "people" },
        }),
      ],
      answer: ({ stream }, path) =>
        path.startsWith("/anthropic/") && path.endsWith("/messages")
          ? answerMessages(stream === true)
          : undefined,
    });
    const { gateway } = scene;
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(
      `${home}/.claude/settings.json`,
      JSON.stringify({
        forceLoginMethod: "gateway",
        forceLoginGatewayUrl: gateway.url,
      }),
    );
    const run = (...args: string[]) =>
      new Deno.Command(program, {
        args: [...before, ...args],
        cwd: home,
        clearEnv: true,
        env: { HOME: home, PATH: Deno.env.get("PATH") ?? "", BROWSER: "true" },
        stdin: "piped",
        stdout: "piped",
        stderr: "null",
        signal: AbortSignal.timeout(60_000),
      }).spawn();
    try {
      const login = run("auth", "login", "--gateway-json");
      const answers = login.stdin.getWriter();
      const states: string[] = [];
      let rest = "";
      for await (
        const part of login.stdout.pipeThrough(new TextDecoderStream())
      ) {
        const lines = (rest + part).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const { state, shown, browserUrl } = JSON.parse(line);
          states.push(state);
          if (shown !== undefined) {
            const answer = JSON.stringify({ state, shown, accept: true });
            await answers.write(new TextEncoder().encode(`${answer}\n`));
          } else if (browserUrl !== undefined) await confirm(browserUrl);
        }
      }
      await answers.close().catch(() => {});
      assert.equal(states.at(-1), "done", states.join(" "));
      assert.equal((await login.status).code, 0);
      const asked = run("-p", "hi");
      await asked.stdin.close();
      const { code, stdout } = await asked.output();
      const text = new TextDecoder().decode(stdout);
      assert.equal(code, 0, text + gateway.output());
      assert.match(text, /Signed in\./);
      const state = `${home}/.claude.json`;
      await Deno.writeTextFile(
        state,
        JSON.stringify({
          ...JSON.parse(await Deno.readTextFile(state)),
          hasCompletedOnboarding: true,
          theme: "dark",
          projects: { [home]: { hasTrustDialogAccepted: true } },
        }),
      );
      await using terminal = startTerminal([program, ...before], {
        cwd: home,
        env: { HOME: home, PATH: Deno.env.get("PATH") ?? "" },
      });
      await terminal.shows(/requireapproval.*CLAUDE_CODE_AUTO_MODE_SERVER/);
      // The question ignores keys of its first moments.
      const approving = setInterval(() => terminal.type(KEYS.enter), 1000);
      await terminal.shows(/ClaudeCodev[\d.]+.*model-anthropic/)
        .finally(() => clearInterval(approving));
      await terminal.type("/model");
      await terminal.shows(/Switchmodel/);
      await terminal.type(KEYS.enter);
      await terminal.shows(
        /Default.*currentlymodel-anthropic\).*model-google.*model-aws/,
      );
      const tokens = gateway.lines("request").map(({ token }) => token);
      assert.ok(tokens.some((name) => String(name).startsWith("alice (")));
      await assertKeyless(scene);
    } finally {
      issuer.kill("SIGKILL");
      await issuer.ended;
      await Deno.remove(home, { recursive: true });
    }
  },
);
