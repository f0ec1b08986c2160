import { command, type Run } from "../arguments.ts";
import { type CliIo, EXIT } from "../command.ts";
import {
  CLIENTS,
  type Snippet,
  TOKEN_PLACEHOLDER,
  TOKEN_VARIABLE,
  tokenByCommand,
} from "@gateway/page/wording";
import { GatewayUnread, type RequestTools } from "../gateway_client.ts";
import { attributionSnippet } from "./attribution.ts";
import { checkSetup } from "./check.ts";
import { readSetupOptions, SETUP, type SetupOptions } from "./options.ts";
import { chooseModels, readModels, unlistedHint } from "./read_models.ts";

/**
 * `setup CLIENT`: prints the settings of a client to standard output, so that they can be piped. Prints the
 * instructions for the settings to standard error. With `--check`, it tests the client's requests; without a client, it
 * lists all clients.
 *
 * @returns The exit code.
 */
export const runSetup: Run<CliIo & RequestTools> = command(
  SETUP,
  async (read, tools) => {
    const options = readSetupOptions(read, tools.env);
    if (options === undefined) return listClients(tools);
    if (options.check) return await checkSetup(options, tools);
    await printSettings(options, tools);
    return EXIT.good;
  },
);

function listClients({ write }: CliIo): number {
  const width = Math.max(...CLIENTS.map(({ id }) => id.length));
  for (const { id, name } of CLIENTS) {
    write(`${id.padEnd(width)}  ${name}\n`);
  }
  return EXIT.good;
}

async function printSettings(
  options: SetupOptions,
  tools: CliIo & RequestTools,
): Promise<void> {
  const { base, client, token, tokenCommand, header } = options;
  const models = await modelsOf(options, tools);
  const place = { base, model: models[0].id, models, tokenCommand };
  const { title, text } = client.settings(place);
  tools.writeError(`# ${title}\n\n`);
  tools.write(`${text}\n`);
  const hasToken = tokenCommand === undefined
    ? client.readsEnvironment && !client.prefersFile && token !== "" &&
      tools.env(TOKEN_VARIABLE) === token
    : client.runsTokenCommand;
  const rest = [
    ...(hasToken ? [] : [
      tokenCommand === undefined
        ? client.token(TOKEN_PLACEHOLDER)
        : tokenByCommand(tokenCommand),
    ]),
    ...(header === undefined
      ? []
      : [attributionSnippet(client.id, header) ?? UNKNOWN_HEADER]),
    ...(client.start === undefined ? [] : [client.start(place)]),
  ];
  tools.writeError(rest.map(formatSnippet).join(""));
  if (title.startsWith("~")) tools.writeError(`\n# ${MERGE}\n`);
  if (client.note !== undefined) tools.writeError(`\n# ${client.note}\n`);
}

const UNKNOWN_HEADER = {
  title: "The header",
  text:
    "It is not known how this client sends a header. See its documentation.",
};

const MERGE = "If that file exists already, add these settings to it.";

function formatSnippet({ title, text }: Snippet): string {
  return `\n# ${title}\n\n${text}\n`;
}

/**
 * Returns the models of the token. Without a token, or when the gateway cannot be read, returns only the model of
 * `--model`.
 */
async function modelsOf(
  options: SetupOptions,
  tools: CliIo & RequestTools,
): Promise<ReturnType<typeof chooseModels>> {
  const { client, model, token } = options;
  const models = token === "" ? [] : await readOrNone(options, tools);
  if (model !== undefined && models.length > 0) {
    const hint = unlistedHint(models, model);
    if (hint !== undefined) tools.writeError(`${hint}\n`);
  }
  return chooseModels(models, client, model);
}

async function readOrNone(
  options: SetupOptions,
  tools: CliIo & RequestTools,
): ReturnType<typeof readModels> {
  try {
    return await readModels(options, tools);
  } catch (error) {
    const isUnread = error instanceof GatewayUnread;
    if (!isUnread || options.model === undefined) throw error;
    tools.writeError(`${error.message}\n`);
    return [];
  }
}
