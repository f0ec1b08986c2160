import type { Protocol } from "../../src/base/protocol.ts";
import {
  type ClientPackage,
  installClient,
  type InstalledClient,
} from "./install.ts";
import { executable, type LaunchOptions, MACHINE, NODE } from "./programs.ts";
import { installPython } from "./python_sdks.ts";
import type { Startable } from "./run_client.ts";

/** A client over Chat Completions without settings of `setup`, set up as its own documentation says. */
export interface OtherProgram extends Startable {
  readonly name: string;
  readonly protocol: Protocol;
  install(): Promise<InstalledClient>;
}

/** A client from npm. */
function fromNpm(
  name: string,
  source: ClientPackage,
  launch: Startable["launch"],
): OtherProgram {
  const isScript = source.executable?.endsWith("js") === true;
  const runtime = isScript ? { runtime: NODE } : {};
  const install = () => installClient({ source, ...runtime });
  return { name, protocol: "chat", launch, install };
}

const KIMI_CODE = fromNpm(
  "Kimi Code",
  {
    name: "@moonshot-ai/kimi-code",
    version: "2.1.0",
    executable: "@moonshot-ai/kimi-code/dist/main.mjs",
  },
  (prompt, { url, token, model }) => ({
    args: ["-p", prompt],
    env: {
      KIMI_MODEL_NAME: model,
      KIMI_MODEL_PROVIDER_TYPE: "openai",
      KIMI_MODEL_BASE_URL: `${url}/v1`,
      KIMI_MODEL_API_KEY: token,
      KIMI_MODEL_MAX_CONTEXT_SIZE: "200000",
      KIMI_CODE_NO_AUTO_UPDATE: "1",
      KIMI_DISABLE_TELEMETRY: "1",
    },
    files: {},
  }),
);

const PI = fromNpm(
  "pi",
  {
    name: "@earendil-works/pi-coding-agent",
    version: "1.6.0",
    executable: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
  },
  (prompt, { url, token, model }) => ({
    args: [
      "-p",
      "--offline",
      "--provider",
      "gateway",
      "--model",
      model,
      prompt,
    ],
    env: { MODEL_GATEWAY_TOKEN: token },
    files: {
      ".pi/agent/models.json": JSON.stringify({
        providers: {
          gateway: {
            baseUrl: `${url}/v1`,
            api: "openai-completions",
            apiKey: "$MODEL_GATEWAY_TOKEN",
            models: [{ id: model }],
          },
        },
      }),
    },
  }),
);

const COPILOT = fromNpm(
  "Copilot CLI",
  {
    name: "@github/copilot",
    version: "1.0.102",
    executable: executable(`@github/copilot-${MACHINE}/copilot`),
  },
  (prompt, { url, token, model }) => ({
    args: ["-p", prompt, "--allow-all", "--no-auto-update"],
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: token,
      COPILOT_MODEL: model,
      COPILOT_OFFLINE: "true",
    },
    files: {},
  }),
);

const CONTINUE = fromNpm(
  "Continue",
  {
    name: "@continuedev/cli",
    version: "1.5.47",
    executable: "@continuedev/cli/dist/cn.js",
  },
  (prompt, { url, token, model }) => ({
    args: ["--config", "../cn.yaml", "--auto", "-p", prompt],
    env: { CONTINUE_TELEMETRY_ENABLED: "0" },
    files: {
      "cn.yaml": JSON.stringify({
        name: "gateway",
        version: "1.0.0",
        schema: "v1",
        models: [{
          name: model,
          provider: "openai",
          model,
          apiBase: `${url}/v1`,
          apiKey: token,
          roles: ["chat"],
        }],
      }),
    },
  }),
);

const CLINE = fromNpm(
  "cline",
  {
    name: "cline",
    version: "3.0.65",
    executable: executable(`@cline/cli-${MACHINE}/bin/cline`),
  },
  (prompt, { url, token, model }) => ({
    before: {
      args: ["auth", "openai", "-k", token, "-m", model, "-b", `${url}/v1`],
      env: {},
    },
    args: ["-P", "openai", "-m", model, prompt],
    env: { CLINE_TELEMETRY_DISABLED: "1" },
    files: {},
  }),
);

const KILO = fromNpm(
  "kilo",
  {
    name: `@kilocode/cli-${MACHINE}`,
    version: "7.7.9",
    executable: executable(`@kilocode/cli-${MACHINE}/bin/kilo`),
  },
  (prompt, { url, token, model }) => ({
    args: ["run", "--auto", "-m", `gateway/${model}`],
    stdin: prompt,
    env: { MODEL_GATEWAY_TOKEN: token },
    files: {
      ".config/kilo/kilo.json": JSON.stringify({
        model: `gateway/${model}`,
        provider: {
          gateway: {
            npm: "@ai-sdk/openai-compatible",
            options: {
              baseURL: `${url}/v1`,
              apiKey: "{env:MODEL_GATEWAY_TOKEN}",
            },
            models: { [model]: {} },
          },
        },
      }),
    },
  }),
);

/** A program of a few lines with an agent library for Python. */
function library(
  name: string,
  requirement: string,
  code: string,
): OtherProgram {
  return {
    name: `Python, ${name}`,
    protocol: "chat",
    install: () => installPython([requirement]),
    launch: (_prompt, { url, token, model }: LaunchOptions) => ({
      args: ["../ask.py"],
      env: {
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_API_KEY: token,
        MODEL: model,
        OPENAI_AGENTS_DISABLE_TRACING: "1",
        LITELLM_LOCAL_MODEL_COST_MAP: "True",
      },
      files: { "ask.py": code },
    }),
  };
}

const LIBRARIES = [
  library(
    "langchain",
    "langchain-openai==1.7.4",
    `import os
from langchain_openai import ChatOpenAI
print(ChatOpenAI(model=os.environ["MODEL"]).invoke("Say hello").content)
`,
  ),
  library(
    "litellm",
    "litellm==1.110.2",
    `import os, litellm
print(litellm.completion("openai/" + os.environ["MODEL"], num_retries=3,
  messages=[{"role": "user", "content": "Say hello"}]).choices[0].message.content)
`,
  ),
  library(
    "pydantic-ai",
    "pydantic-ai-slim[openai]==2.68.0",
    `import os
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
print(Agent(OpenAIChatModel(os.environ["MODEL"])).run_sync("Say hello").output)
`,
  ),
  library(
    "openai-agents",
    "openai-agents==0.24.0",
    `import os
from agents import Agent, Runner, set_default_openai_api
set_default_openai_api("chat_completions")
print(Runner.run_sync(Agent(name="a", model=os.environ["MODEL"]), "Say hello").final_output)
`,
  ),
];

/** Every such client. */
export const OTHER_PROGRAMS: readonly OtherProgram[] = [
  KIMI_CODE,
  PI,
  COPILOT,
  CLINE,
  KILO,
  CONTINUE,
  ...LIBRARIES,
];
