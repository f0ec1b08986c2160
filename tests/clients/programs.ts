import type { Protocol } from "../../src/core/protocol.ts";
import type { ClientPackage } from "./install.ts";

/** Where a client finds the gateway. */
export interface GatewayAddress {
  /** Origin, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly token: string;
  readonly model: string;
}

/** What a client is told about its work. */
export interface LaunchOptions extends GatewayAddress {
  /** How often it may ask again, where it can be told. */
  readonly retries: number;
}

/** How a client is started without a screen. */
export interface Launch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Text on its standard input; absent: nothing. */
  readonly stdin?: string;
  /** Files to lie in its home folder, by their path there. */
  readonly files: Readonly<Record<string, string>>;
}

/** A real client. */
export interface ClientProgram {
  readonly name: string;
  readonly source: ClientPackage;
  /**
   * Whether it ends its turn when a protocol's own event reports a failure after some text, natively as well: Qwen
   * Code takes the code of a failed response for a status (https://github.com/QwenLM/qwen-code/pull/11291).
   */
  readonly endsAtFailure?: boolean;
  /** What it runs on, where it is no program by itself. */
  readonly runtime?: ClientPackage;
  /** What it speaks to the gateway. */
  readonly protocol: Protocol;
  /** The tool that runs a command, the argument that takes it, and others that it must have. */
  readonly shell: {
    readonly tool: string;
    readonly argument: string;
    readonly others?: Readonly<Record<string, unknown>>;
  };
  launch(prompt: string, options: LaunchOptions): Launch;
}

/** The demo calls the tool that it is told to use, with the object in the prompt. */
export function toolPrompt({ shell }: ClientProgram): string {
  const input = {
    [shell.argument]: "echo made by the tool >> proof.txt; cat proof.txt",
    description: "Writes a file",
    ...shell.others,
  };
  return `Use ${shell.tool} with ${JSON.stringify(input)}`;
}

/** How npm names this machine; `undefined` for those that the clients do not support. */
const PLATFORM = platformName();

const ARCH = Deno.build.arch === "x86_64" ? "x64" : "arm64";

/** What Rust names this machine. */
const CODEX_TARGET = Deno.build.os === "linux"
  ? `${Deno.build.arch}-unknown-linux-musl`
  : `${Deno.build.arch}-apple-darwin`;

function platformName(): string | undefined {
  const { os } = Deno.build;
  return os === "linux" || os === "darwin" ? os : undefined;
}

function executable(path: string): string | undefined {
  return PLATFORM === undefined ? undefined : path;
}

const CLAUDE_CODE: ClientProgram = {
  name: "Claude Code",
  source: {
    name: "@anthropic-ai/claude-code",
    version: "2.1.329",
    executable: executable(
      `@anthropic-ai/claude-code-${PLATFORM}-${ARCH}/claude`,
    ),
  },
  protocol: "messages",
  shell: { tool: "Bash", argument: "command" },
  launch: (prompt, { url, token, model, retries }) => ({
    args: ["-p", prompt, "--model", model, "--dangerously-skip-permissions"],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: token,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: String(retries),
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      // Without it the client refuses to skip permissions for the administrator of a container.
      IS_SANDBOX: "1",
    },
    files: {},
  }),
};

const CODEX: ClientProgram = {
  name: "Codex CLI",
  source: {
    name: "@openai/codex",
    version: "0.169.0",
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
    env: { GATEWAY_TOKEN: token },
    files: { ".codex/config.toml": codexConfig(options) },
  }),
};

function codexConfig(
  { url, model, retries }: Omit<LaunchOptions, "token">,
): string {
  return `model = "${model}"
model_provider = "gateway"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_plugin = false
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_TOKEN"
wire_api = "responses"
request_max_retries = ${retries}
stream_max_retries = ${retries}
`;
}

/** The package of the Vercel AI SDK that speaks each protocol; opencode has all of them inside. */
const AI_SDK: Readonly<Record<Protocol, string>> = {
  chat: "@ai-sdk/openai-compatible",
  messages: "@ai-sdk/anthropic",
  responses: "@ai-sdk/openai",
};

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
    launch: (prompt, { url, token, model }) => ({
      args: ["run", "-m", `gateway/${model}`],
      // An argument with spaces would reach the model in quotes.
      stdin: prompt,
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        OPENCODE_DISABLE_SHARE: "1",
      },
      files: {
        ".config/opencode/opencode.json": JSON.stringify({
          provider: {
            gateway: {
              npm: AI_SDK[protocol],
              options: { baseURL: `${url}/v1`, apiKey: token },
              models: { [model]: {} },
            },
          },
          permission: { "*": "allow" },
          small_model: `gateway/${model}`,
        }),
      },
    }),
  };
}

/** The build that needs no AVX2 runs everywhere. */
const BASELINE = Deno.build.arch === "x86_64" ? "-baseline" : "";

/** The `--auth-type` by which Qwen Code speaks each protocol, and the names of its settings then. */
const QWEN_AUTH = {
  chat: { type: "openai", prefix: "OPENAI", base: "/v1" },
  messages: { type: "anthropic", prefix: "ANTHROPIC", base: "" },
  responses: { type: "openai-responses", prefix: "OPENAI", base: "/v1" },
} as const satisfies Record<Protocol, unknown>;

function qwen(protocol: Protocol): ClientProgram {
  const { type, prefix, base } = QWEN_AUTH[protocol];
  return {
    name: `Qwen Code over ${protocol}`,
    endsAtFailure: protocol === "responses",
    source: {
      name: "@qwen-code/qwen-code",
      version: "0.24.4",
      executable: "@qwen-code/qwen-code/cli-entry.js",
    },
    // It needs a newer Node than machines have that run Deno.
    runtime: {
      name: `node-linux-${ARCH}`,
      version: "22.23.3",
      executable: Deno.build.os === "linux"
        ? `node-linux-${ARCH}/bin/node`
        : undefined,
    },
    protocol,
    shell: {
      tool: "run_shell_command",
      argument: "command",
      others: { is_background: false },
    },
    launch: (prompt, { url, token, model }) => ({
      args: ["--auth-type", type, "-m", model, "--yolo", prompt],
      env: {
        [`${prefix}_API_KEY`]: token,
        [`${prefix}_BASE_URL`]: `${url}${base}`,
        [`${prefix}_MODEL`]: model,
      },
      files: {
        ".qwen/settings.json": JSON.stringify({
          privacy: { usageStatisticsEnabled: false },
          general: { disableAutoUpdate: true, disableUpdateNag: true },
          telemetry: { enabled: false },
        }),
      },
    }),
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
