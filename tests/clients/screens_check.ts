import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import { type CheckedClient, testsOf } from "./checked_client.ts";
import { CLIENTS } from "./programs.ts";
import { KEYS, startTerminal, type Terminal } from "./terminal.ts";
import { chatUpstream, type Spoil, startTranslating } from "./upstreams.ts";

// Real clients from npm in a terminal, as staff use them: start, list of models, a turn, a tool call with its prompt,
// Escape in mid-stream, and a stop with its message. `deno task test:clients` runs this; `deno task test` does not.

const MODEL = "demo-model";

/** The texts on a client's screen, without white space, and the client's keys. */
interface Screens {
  /** Arguments with which the client asks before it runs a tool. */
  readonly args: readonly string[];
  /** Files in its home folder that answer the questions of a first start. */
  readonly files: (work: string) => Readonly<Record<string, string>>;
  /** Variables beside those of its launch; default: none. */
  readonly env?: Readonly<Record<string, string>>;
  readonly start: RegExp;
  /** The command for the list of models; default: `/model`. */
  readonly listModels?: string;
  readonly models: RegExp;
  readonly prompt: string;
  readonly asksFirst: RegExp;
  readonly consent: string;
  readonly hasRun: RegExp;
  readonly running: RegExp;
  /** The times that Escape is pressed to end an answer; default: 1. */
  readonly escapes?: number;
  readonly interrupted: RegExp;
}

const SCREENS: Readonly<Record<string, Screens>> = {
  "Claude Code": {
    args: ["--permission-mode", "default"],
    files: (work) => ({
      ".claude.json": JSON.stringify({
        hasCompletedOnboarding: true,
        theme: "dark",
        projects: { [work]: { hasTrustDialogAccepted: true } },
      }),
    }),
    start: /ClaudeCodev[\d.]+.*demo-model/,
    models: /Selectmodel.*demo-model/,
    prompt:
      'Use Bash with {"command":"touch made.txt","description":"Makes a file"}',
    asksFirst: /Doyouwantto/,
    consent: KEYS.enter,
    hasRun: /ThetoolBashreturned/,
    running: /esctointerrupt/,
    interrupted: /Interrupted/,
  },
  "Codex CLI": {
    // Its background server would outlive the test.
    args: ["--no-daemon"],
    files: () => ({}),
    start: /OpenAICodex/,
    models: /SelectModelandEffort.*demo-model/,
    prompt:
      'Use exec_command with {"cmd":"touch made.txt","justification":"x","sandbox_permissions":"require_escalated"}',
    asksFirst: /Wouldyouliketorun/,
    consent: "y",
    hasRun: /Youapproved/,
    running: /esctointerrupt/,
    interrupted: /interrupted/i,
  },
  "opencode over chat": {
    args: [],
    files: () => ({}),
    // Without a permission of its own, it runs every command unasked.
    env: { OPENCODE_PERMISSION: '{"bash":"ask"}' },
    start: /Askanything.*demo-model/,
    listModels: "/models",
    models: /Selectmodel.*demo-model/,
    prompt:
      'Use bash with {"command":"touch made.txt","description":"Makes a file"}',
    asksFirst: /Permissionrequired/,
    consent: KEYS.enter,
    hasRun: /Thetoolbashreturned/,
    running: /Waitforit"/,
    escapes: 2,
    interrupted: /·interrupted/,
  },
  "Qwen Code over chat": {
    args: ["--approval-mode", "default"],
    files: () => ({}),
    start: /QwenCode.*demo-model.*Typeyourmessage/,
    models: /SelectModel.*demo-model/,
    prompt:
      'Use run_shell_command with {"command":"touch made.txt","description":"Makes a file","is_background":false}',
    asksFirst: /Allowexecution/,
    consent: KEYS.enter,
    hasRun: /Thetoolrun_shell_commandreturned/,
    running: /Waitforit"/,
    interrupted: /Requestcancelled/,
  },
};

/** Begins an answer to `Wait` that never ends, and refuses `Stop`. */
const spoil: Spoil = async (answer, { body }) => {
  if (body.includes("Stop now")) {
    const error = { message: "Insufficient credits" };
    return Response.json({ error }, { status: 402 });
  }
  if (!body.includes("Wait for it")) return answer;
  const bytes = await answer.bytes();
  const half = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.subarray(0, bytes.length >> 1));
    },
  });
  return new Response(half, { headers: answer.headers });
};

for (const program of CLIENTS) {
  const screens = SCREENS[program.name];
  if (screens === undefined) continue;
  (await testsOf(program))(
    "works in a terminal",
    (command, t) => checkScreens(t, { program, screens, command }),
  );
}

async function checkScreens(
  t: Deno.TestContext,
  { program, screens, command }: CheckedClient & { readonly screens: Screens },
): Promise<void> {
  await using gateway = await startTranslating(chatUpstream(), {
    model: MODEL,
    spoil,
  });
  const home = await Deno.makeTempDir({ prefix: "screen-" });
  const work = `${home}/work`;
  const { files, env } = program.launch("", {
    url: gateway.url,
    token: ALICE_TOKEN,
    model: MODEL,
    retries: 0,
  });
  const trusted = ".codex/config.toml";
  const all = {
    ...files,
    ...screens.files(work),
    ...files[trusted] === undefined ? {} : {
      [trusted]: `${
        files[trusted]
      }\n[projects."${work}"]\ntrust_level = "trusted"\n`,
    },
  };
  await Deno.mkdir(work);
  for (const [name, text] of Object.entries(all)) {
    const file = `${home}/${name}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
  try {
    await using terminal = startTerminal([...command, ...screens.args], {
      cwd: work,
      env: {
        PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
        HOME: home,
        ...env,
        ...screens.env,
      },
    });
    await t.step("it starts", () => terminal.shows(screens.start));
    await t.step("it lists the models", async () => {
      await enter(terminal, screens.listModels ?? "/model");
      await terminal.shows(screens.models);
      await terminal.type(KEYS.escape);
      await pause();
    });
    await t.step("it shows an answer", async () => {
      await enter(terminal, "Say hello");
      await terminal.shows(/Yousaid/);
    });
    await t.step("it asks before a tool runs", async () => {
      await enter(terminal, screens.prompt);
      await terminal.shows(screens.asksFirst);
      await pause();
      await terminal.type(screens.consent);
      await terminal.shows(screens.hasRun);
    });
    await t.step("Escape ends an answer", async () => {
      await pause();
      await enter(terminal, "Wait for it");
      await terminal.shows(screens.running);
      for (let times = screens.escapes ?? 1; times > 0; times--) {
        await pause();
        await terminal.type(KEYS.escape);
      }
      await terminal.shows(screens.interrupted);
    });
    await t.step("it stops with the reason", async () => {
      await pause();
      await enter(terminal, "Stop now");
      await terminal.shows(/quotaofthegateway|Insufficientcredits/);
    });
  } finally {
    await Deno.remove(home, { recursive: true }).catch(() => {});
  }
  const left = () =>
    gateway.lines.requests.items.some(({ ended }) => ended === "client_abort");
  assert.ok(left(), gateway.lines.text());
}

/** Types a line as slowly as a person: clients treat fast keys as pasted text. */
async function enter(terminal: Terminal, line: string): Promise<void> {
  await terminal.type(line);
  await pause();
  await terminal.type(KEYS.enter);
}

/** The time in which a client on a busy machine has drawn its input. */
const PAUSE_MS = 1500;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
