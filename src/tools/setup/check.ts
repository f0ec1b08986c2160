import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  type OperationShape,
  type Protocol,
} from "@gateway/base/protocol";
import {
  type Model,
  type Probe,
  PROBES,
  PROMPT,
  protocolFor,
  TOKEN_VARIABLE,
  TOOL_PROMPT,
} from "@gateway/page/wording";
import { type CliIo, EXIT } from "../command.ts";
import {
  BROKE_OFF,
  errorMessage,
  type GatewayResponse,
  NoResponse,
  notGateway,
  requestGateway,
  type RequestTools,
} from "../gateway_client.ts";
import { counted, endSentence } from "@gateway/base/text";
import { CommandFailed } from "../arguments.ts";
import type { SetupOptions } from "./options.ts";
import {
  chooseModels,
  readModels,
  SetupFailed,
  unlistedHint,
} from "./read_models.ts";

/** The state of a check. */
interface Trial extends RequestTools, SetupOptions {
  /** The models of the token. */
  models: readonly Model[];
  /** The chosen model, and the protocol in which the client requests it. */
  chosen: string;
  protocol: Protocol;
  /** The reason why the connection to the server failed. */
  connectionFault: string | undefined;
}

/** A step of a check. */
interface Step {
  readonly name: string;
  /**
   * Runs the step and returns its result in a few words.
   *
   * @throws {CommandFailed} With the reason and an instruction.
   */
  run(trial: Trial): Promise<string>;
}

const STEPS: readonly Step[] = [
  { name: "reachable", run: reach },
  { name: "TLS", run: tryTransport },
  { name: "token", run: tryToken },
  { name: "model", run: tryModel },
  { name: "stream", run: tryStream },
  { name: "tools", run: tryTools },
];

const NAME_WIDTH = Math.max(...STEPS.map(({ name }) => name.length));

/**
 * `setup CLIENT --check`: sends the client's requests to the gateway, one step after another, and stops at the first
 * failure. Prints a line for each step.
 *
 * @returns The exit code.
 */
export async function checkSetup(
  options: SetupOptions,
  tools: RequestTools & CliIo,
): Promise<number> {
  const trial: Trial = {
    ...options,
    ...tools,
    models: [],
    chosen: "",
    protocol: options.client.protocols[0],
    connectionFault: undefined,
  };
  if (options.client.id === "codex" && await hasDaemon(tools)) {
    tools.write(`note  ${"daemon".padEnd(NAME_WIDTH)}  ${DAEMON_NOTE}\n`);
  }
  for (const step of STEPS) {
    const name = step.name.padEnd(NAME_WIDTH);
    try {
      tools.write(`good  ${name}  ${await step.run(trial)}\n`);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      tools.write(`bad   ${name}  ${error.message}\n`);
      return EXIT.failed;
    }
  }
  return EXIT.good;
}

const DAEMON_NOTE =
  `Codex's background server runs. It keeps the ${TOKEN_VARIABLE} of its start: after a new token, choose /daemon in Codex, then Restart background server.`;

/** Returns true when Codex's background server runs. While it runs, its socket exists. */
async function hasDaemon({ env }: CliIo): Promise<boolean> {
  const home = env("CODEX_HOME") ?? `${env("HOME")}/.codex`;
  return await Deno.lstat(`${home}/app-server-control/app-server-control.sock`)
    .then(() => true, () => false);
}

/**
 * Sends a request without the token. The token is sent only after this step, when the server is known to be a gateway.
 */
async function reach(trial: Trial): Promise<string> {
  const url = `${trial.base}/v1/models`;
  try {
    const answer = await requestGateway({ url }, trial);
    if (answer.status === 401 && errorMessage(answer) !== undefined) {
      return `${trial.base} is a gateway`;
    }
    throw new SetupFailed(`${trial.base}: ${notGateway(answer)}`);
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    if (!error.isThere) {
      throw new SetupFailed(`${trial.base}: ${error.advised}`);
    }
    trial.connectionFault = error.message;
    return "a server is there";
  }
}

function tryTransport({ base, connectionFault }: Trial): Promise<string> {
  if (connectionFault !== undefined) {
    return Promise.reject(new SetupFailed(connectionFault));
  }
  const { protocol, hostname } = new URL(base);
  if (protocol === "https:") {
    return Promise.resolve("the certificate is trusted here");
  }
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(hostname);
  return Promise.resolve(
    isHere
      ? "not used, and not needed on this machine"
      : "not used: others on the network path can read the token and the answers",
  );
}

async function tryToken(trial: Trial): Promise<string> {
  const { client, model } = trial;
  const models = await readModels(trial, trial);
  if (models.length === 0) chooseModels(models, client, undefined);
  trial.models = models;
  const count = counted(models.length, "model");
  const hint = model === undefined ? undefined : unlistedHint(models, model);
  return `it is valid and may use ${count}${hint ? `. ${hint}` : ""}`;
}

async function tryModel(trial: Trial): Promise<string> {
  const { models, client, model } = trial;
  const [first] = chooseModels(models, client, model);
  trial.chosen = first.id;
  trial.protocol = protocolFor(first, client) ?? trial.protocol;
  await sendPrompt(trial, PROMPT, {});
  return `${trial.chosen} answers on ${pathFor(trial, { stream: false })}`;
}

async function tryStream(trial: Trial): Promise<string> {
  const { type, text } = await sendPrompt(trial, PROMPT, { stream: true });
  if (!type.startsWith("text/event-stream")) {
    throw new SetupFailed(
      `${trial.chosen} sent ${
        type || "an unnamed type"
      } instead of a stream. A proxy may change the responses: contact the administrator`,
    );
  }
  if (!probeOf(trial).streamEnd.test(text)) {
    throw new SetupFailed(
      `the stream of ${trial.chosen} broke off. ${RETRY}`,
    );
  }
  return "it arrives and ends correctly";
}

async function tryTools(trial: Trial): Promise<string> {
  const { tool, callsTool } = probeOf(trial);
  const { body } = await sendPrompt(trial, TOOL_PROMPT, { tools: [tool] });
  if (!callsTool(body)) {
    throw new SetupFailed(
      `${trial.chosen} did not call the tool in the prompt. For an agent, choose another model with --model`,
    );
  }
  return `${trial.chosen} calls them`;
}

function probeOf({ protocol }: Trial): Probe {
  return PROBES[protocol];
}

function operationOf({ protocol }: Trial): OperationShape {
  return OPERATIONS[MAIN_OPERATIONS[protocol]];
}

function pathFor(trial: Trial, asked: { readonly stream: boolean }): string {
  return `/v1${operationPath(operationOf(trial), trial.chosen, asked)}`;
}

/**
 * Sends a prompt to the chosen model.
 *
 * @throws {SetupFailed} For each status other than 200.
 */
async function sendPrompt(
  trial: Trial,
  prompt: string,
  more: { readonly stream?: boolean; readonly tools?: readonly unknown[] },
): Promise<GatewayResponse> {
  const { stream = false, ...fields } = more;
  const { streamField } = operationOf(trial);
  const requestBody = {
    ...probeOf(trial).body(trial.chosen, prompt),
    ...fields,
    ...(stream && streamField !== undefined ? { [streamField]: true } : {}),
  };
  try {
    const answer = await requestGateway({
      url: trial.base + pathFor(trial, { stream }),
      token: trial.token,
      body: requestBody,
    }, trial);
    if (answer.status === 200) return answer;
    const message = errorMessage(answer) ?? "The response gives no reason";
    const sentences = [endSentence(message), advice(answer, message)];
    throw new SetupFailed(
      `${trial.chosen} failed with HTTP ${answer.status}. ${
        sentences.join(" ").trim()
      }`,
    );
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    const { message, advised } = error;
    const rest = message === BROKE_OFF ? `. ${RETRY}` : "";
    throw new SetupFailed(`${trial.chosen}: ${advised}${rest}`);
  }
}

const RETRY =
  "Try again, or try another model with --model. If that fails too, contact the administrator";

function advice(
  { status, isFinal }: GatewayResponse,
  message: string,
): string {
  if (status >= 500 && isFinal) {
    return message.includes("administrator") ? "" : "Contact the administrator";
  }
  switch (status) {
    case 401:
      return "";
    case 404:
      return "Name one of your models with --model";
    case 429:
      // The error about a token's limit already names the command that shows the limit.
      if (message.includes("model-gateway usage")) return "";
      return "Wait, and see the remaining quota with model-gateway limits";
    default:
      return status >= 500
        ? "Try another model with --model. If that fails too, contact the administrator"
        : "Try another model with --model";
  }
}
