import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  type OperationShape,
  type Protocol,
} from "../../core/protocol.ts";
import { type CliIo, EXIT } from "../command.ts";
import type { Model } from "../../http/wording/models.js";
import { protocolFor } from "../../http/wording/settings_text.js";
import {
  BROKE_OFF,
  errorMessage,
  type GatewayResponse,
  NoResponse,
  notGateway,
  requestGateway,
  type RequestTools,
} from "../gateway_client.ts";
import { endSentence } from "../text.ts";
import type { SetupOptions } from "./options.ts";
import {
  chooseModels,
  readModels,
  SetupFailed,
  unlistedHint,
} from "./read_models.ts";

/** The test of a model in one protocol. */
interface Probe {
  /** Returns the body of a request with the prompt `text`, without a stream. */
  body(model: string, text: string): JsonObject;
  /** The tool {@linkcode TOOL} in the protocol's shape. */
  readonly tool: JsonObject;
  /** Matches the end of a complete stream. */
  readonly streamEnd: RegExp;
  /** Returns true when an answer calls {@linkcode TOOL}. */
  callsTool(answer: JsonObject): boolean;
}

/** A tool that any model can call without further knowledge. */
const TOOL = {
  name: "note_number",
  description: "Notes a number.",
  schema: {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
  },
};

/** The prompt that makes a model call {@linkcode TOOL}. */
const TOOL_PROMPT = `Use ${TOOL.name} with {"number":7}`;

/** The token limit of an answer, enough for a model that reasons first. */
const MAX_TOKENS = 2048;

/** The test of each protocol. */
const PROBES: Readonly<Record<Protocol, Probe>> = {
  chat: {
    body: (model, content) => ({
      model,
      messages: [{ role: "user", content }],
    }),
    tool: {
      type: "function",
      function: {
        name: TOOL.name,
        description: TOOL.description,
        parameters: TOOL.schema,
      },
    },
    streamEnd: /^data: *\[DONE\]/m,
    callsTool: ({ choices }) =>
      objectsIn(choices).some(({ message }) =>
        isJsonObject(message) &&
        objectsIn(message.tool_calls).some(({ function: called }) =>
          isJsonObject(called) && called.name === TOOL.name
        )
      ),
  },
  messages: {
    body: (model, content) => ({
      model,
      max_tokens: MAX_TOKENS,
      messages: [{ role: "user", content }],
    }),
    tool: {
      name: TOOL.name,
      description: TOOL.description,
      input_schema: TOOL.schema,
    },
    streamEnd: /^event: *message_stop/m,
    callsTool: ({ content }) =>
      objectsIn(content).some(({ type, name }) =>
        type === "tool_use" && name === TOOL.name
      ),
  },
  responses: {
    body: (model, input) => ({ model, input, store: false }),
    tool: {
      type: "function",
      name: TOOL.name,
      description: TOOL.description,
      parameters: TOOL.schema,
      strict: false,
    },
    streamEnd: /^event: *response\.completed/m,
    callsTool: ({ output }) =>
      objectsIn(output).some(({ type, name }) =>
        type === "function_call" && name === TOOL.name
      ),
  },
};

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

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
   * @throws {SetupFailed} With the reason and an instruction.
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
 * `setup CLIENT --check`: sends the gateway the client's requests, step by step up to the first failure, and prints a
 * line for each step.
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
  for (const step of STEPS) {
    const name = step.name.padEnd(NAME_WIDTH);
    try {
      tools.write(`good  ${name}  ${await step.run(trial)}\n`);
    } catch (error) {
      if (!(error instanceof SetupFailed)) throw error;
      tools.write(`bad   ${name}  ${endSentence(error.message)}\n`);
      return EXIT.failed;
    }
  }
  return EXIT.good;
}

/** Sends a request without the token: the token is sent only to a gateway. */
async function reach(trial: Trial): Promise<string> {
  const url = `${trial.base}/v1/models`;
  try {
    const answer = await requestGateway({ url }, trial);
    if (answer.status === 401 && errorMessage(answer) !== undefined) {
      return `${trial.base} is a gateway`;
    }
    throw new SetupFailed(notGateway(answer));
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    if (!error.isThere) throw new SetupFailed(error.message);
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
  const count = models.length === 1 ? "1 model" : `${models.length} models`;
  const hint = model === undefined ? undefined : unlistedHint(models, model);
  return `it is valid and may use ${count}${hint ? `. ${hint}` : ""}`;
}

async function tryModel(trial: Trial): Promise<string> {
  const { models, client, model } = trial;
  const [first] = chooseModels(models, client, model);
  trial.chosen = first.id;
  trial.protocol = protocolFor(first, client) ?? trial.protocol;
  await sendPrompt(trial, "Say OK.", {});
  return `${trial.chosen} answers on ${pathFor(trial, { stream: false })}`;
}

async function tryStream(trial: Trial): Promise<string> {
  const { type, text } = await sendPrompt(trial, "Say OK.", { stream: true });
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
  if (!isJsonObject(body) || !callsTool(body)) {
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
  more: { readonly stream?: boolean; readonly tools?: readonly JsonObject[] },
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
    const { message } = error;
    const rest = message === BROKE_OFF ? `. ${RETRY}` : "";
    throw new SetupFailed(`${trial.chosen}: ${message}${rest}`);
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
      return "Ask the administrator for a new token";
    case 404:
      return "Name one of your models with --model";
    case 429:
      return "Wait, and see the remaining quota with model-gateway limits";
    default:
      return status >= 500
        ? "Try another model with --model. If that fails too, contact the administrator"
        : "Try another model with --model";
  }
}
