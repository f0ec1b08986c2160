import type { Protocol } from "../../src/base/protocol.ts";
import { CLIENTS as SETTINGS } from "../../src/page/wording/settings.js";
import type { ClientPackage } from "./install.ts";

/** The gateway's address for a client. */
export interface GatewayAddress {
  /** Origin, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly token: string;
  readonly model: string;
  /** A command that prints the token, for clients whose settings run one; default: none. */
  readonly tokenCommand?: string | undefined;
}

/** The parameters of a client's run. */
export interface LaunchOptions extends GatewayAddress {
  /** The most retries, for clients with such a setting. */
  readonly retries: number;
}

/** A command that starts a client without a screen. */
export interface Launch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The text on its standard input; default: none. */
  readonly stdin?: string;
  /** A first command in the same home folder. */
  readonly before?: Pick<Launch, "args" | "env">;
  /** The files in its home folder, by their paths there. */
  readonly files: Readonly<Record<string, string>>;
}

/** A real client. */
export interface ClientProgram {
  readonly name: string;
  readonly source: ClientPackage;
  /**
   * True when it ends its turn after a failure event that follows some text, also natively. Qwen
   * Code takes the code of a failed response for a status
   * (https://github.com/QwenLM/qwen-code/pull/11291).
   */
  readonly endsAtFailure?: boolean;
  /** The runtime of a client that is not a program by itself. */
  readonly runtime?: ClientPackage;
  /** The protocol of its requests to the gateway. */
  readonly protocol: Protocol;
  /** The tool that runs a command, its argument for the command, and further required arguments. */
  readonly shell: {
    readonly tool: string;
    readonly argument: string;
    readonly others?: Readonly<Record<string, unknown>>;
  };
  launch(prompt: string, options: LaunchOptions): Launch;
}

/** Returns a prompt that makes the demo call the client's shell tool with an object. */
export function toolPrompt({ shell }: ClientProgram): string {
  const input = {
    [shell.argument]: "echo made by the tool >> proof.txt; cat proof.txt",
    description: "Writes a file",
    ...shell.others,
  };
  return `Use ${shell.tool} with ${JSON.stringify(input)}`;
}

/**
 * Returns the settings that `model-gateway setup` and the page print for a client, and the path of
 * their file.
 */
function printedSettings(
  id: string,
  { url, model, tokenCommand }: Omit<GatewayAddress, "token">,
  protocol: Protocol,
): { readonly file: string; readonly text: string } {
  const client = SETTINGS.find((one) => one.id === id);
  if (client === undefined) throw new Error(`setup has no client ${id}`);
  const models = [{ id: model, protocols: [protocol] }];
  const { title, text } = client.settings({
    ...{ base: url, model, models, tokenCommand },
  });
  return { file: title.replace(/^~\//, ""), text };
}

/** Adds the test's own fields to printed JSON settings. */
function withMore(
  { file, text }: ReturnType<typeof printedSettings>,
  more: object,
): Launch["files"] {
  return { [file]: JSON.stringify({ ...JSON.parse(text), ...more }) };
}

/** npm's name of this machine; `undefined` when the clients do not support it. */
const PLATFORM = platformName();

const ARCH = Deno.build.arch === "x86_64" ? "x64" : "arm64";

/** Rust's name of this machine. */
const CODEX_TARGET = Deno.build.os === "linux"
  ? `${Deno.build.arch}-unknown-linux-musl`
  : `${Deno.build.arch}-apple-darwin`;

function platformName(): string | undefined {
  const { os } = Deno.build;
  return os === "linux" || os === "darwin" ? os : undefined;
}

/** A newer Node than many machines with Deno have, for clients that are no programs by themselves. */
export const NODE: ClientPackage = {
  name: `node-linux-${ARCH}`,
  version: "22.23.3",
  executable: Deno.build.os === "linux"
    ? `node-linux-${ARCH}/bin/node`
    : undefined,
};

/** npm's name of this machine in packages with a program for each platform. */
export const MACHINE = `${PLATFORM}-${ARCH}`;

/** Returns the path of a program, if the clients support this machine. */
export function executable(path: string): string | undefined {
  return PLATFORM === undefined ? undefined : path;
}

const CLAUDE_CODE: ClientProgram = {
  name: "Claude Code",
  source: {
    name: "@anthropic-ai/claude-code",
    version: "2.1.332",
    executable: executable(
      `@anthropic-ai/claude-code-${PLATFORM}-${ARCH}/claude`,
    ),
  },
  protocol: "messages",
  shell: { tool: "Bash", argument: "command" },
  launch: (prompt, { token, retries, ...place }) => ({
    args: ["-p", prompt, "--dangerously-skip-permissions"],
    env: {
      MODEL_GATEWAY_TOKEN: token,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: String(retries),
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      // Without it, the client refuses to skip permissions for root in a container.
      IS_SANDBOX: "1",
    },
    files: withMore(printedSettings("claude", place, "messages"), {}),
  }),
};

const CODEX: ClientProgram = {
  name: "Codex CLI",
  source: {
    name: "@openai/codex",
    version: "0.171.0",
    executable: executable(
      `@openai/codex-${PLATFORM}-${ARCH}/vendor/${CODEX_TARGET}/bin/codex`,
    ),
  },
  protocol: "responses",
  shell: { tool: "exec_command", argument: "cmd" },
  launch: (prompt, { token, ...options }) => ({
    args: [
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      prompt,
    ],
    env: { MODEL_GATEWAY_TOKEN: token },
    files: { ".codex/config.toml": codexConfig(options) },
  }),
};

/** Adds the retries to the provider's table of the printed settings. */
function codexConfig(
  { retries, ...place }: Omit<LaunchOptions, "token">,
): string {
  const { text } = printedSettings("codex", place, "responses");
  const line = 'wire_api = "responses"\n';
  const more = `request_max_retries = ${retries}
stream_max_retries = ${retries}
`;
  return `check_for_update_on_startup = false
${text.replace(line, line + more)}
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_plugin = false
`;
}

function opencode(protocol: Protocol): ClientProgram {
  return {
    name: `opencode over ${protocol}`,
    source: {
      name: "opencode-ai",
      version: "1.18.33",
      executable: executable(
        `opencode-${PLATFORM}-${ARCH}${BASELINE}/bin/opencode`,
      ),
    },
    protocol,
    shell: { tool: "bash", argument: "command" },
    launch: (prompt, { token, ...place }) => ({
      args: ["run"],
      // An argument with spaces would reach the model in quotes.
      stdin: prompt,
      env: {
        MODEL_GATEWAY_TOKEN: token,
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        OPENCODE_DISABLE_SHARE: "1",
      },
      // The client requests a model in one of the protocols that serve it.
      files: withMore(printedSettings("opencode", place, protocol), {
        permission: { "*": "allow" },
      }),
    }),
  };
}

/** The build without AVX2 runs on every machine. */
const BASELINE = Deno.build.arch === "x86_64" ? "-baseline" : "";

/**
 * The `--auth-type` that makes Qwen Code speak other protocols than the printed settings, and its
 * variables.
 */
const QWEN_AUTH = {
  messages: { type: "anthropic", prefix: "ANTHROPIC", base: "" },
  responses: { type: "openai-responses", prefix: "OPENAI", base: "/v1" },
} as const;

/** Prevents requests to other servers than the gateway. */
const QUIET_QWEN = {
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true, disableUpdateNag: true },
  telemetry: { enabled: false },
};

function qwen(protocol: Protocol): ClientProgram {
  return {
    name: `Qwen Code over ${protocol}`,
    endsAtFailure: protocol === "responses",
    source: {
      name: "@qwen-code/qwen-code",
      version: "0.24.4",
      executable: "@qwen-code/qwen-code/cli-entry.js",
    },
    runtime: NODE,
    protocol,
    shell: {
      tool: "run_shell_command",
      argument: "command",
      others: { is_background: false },
    },
    launch: (prompt, options) =>
      protocol === "chat"
        ? launchQwen(prompt, options)
        : launchQwenAs(QWEN_AUTH[protocol], prompt, options),
  };
}

function launchQwen(
  prompt: string,
  { token, ...place }: LaunchOptions,
): Launch {
  return {
    args: ["--yolo", prompt],
    env: { MODEL_GATEWAY_TOKEN: token },
    files: withMore(printedSettings("qwen", place, "chat"), QUIET_QWEN),
  };
}

function launchQwenAs(
  { type, prefix, base }: typeof QWEN_AUTH[keyof typeof QWEN_AUTH],
  prompt: string,
  { url, token, model }: LaunchOptions,
): Launch {
  return {
    args: ["--auth-type", type, "-m", model, "--yolo", prompt],
    env: {
      [`${prefix}_API_KEY`]: token,
      [`${prefix}_BASE_URL`]: `${url}${base}`,
      [`${prefix}_MODEL`]: model,
    },
    files: { ".qwen/settings.json": JSON.stringify(QUIET_QWEN) },
  };
}

/** Every client, in each protocol that it speaks. */
export const CLIENTS: readonly ClientProgram[] = [
  CLAUDE_CODE,
  CODEX,
  opencode("chat"),
  opencode("messages"),
  opencode("responses"),
  qwen("chat"),
  qwen("messages"),
  qwen("responses"),
];
