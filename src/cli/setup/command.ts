import { badUsage, type CliIo, EXIT } from "../command.ts";
import { CLIENTS } from "../../http/wording/settings.js";
import {
  type Snippet,
  TOKEN_PLACEHOLDER,
} from "../../http/wording/settings_text.js";
import type { AskTools } from "../gateway_client.ts";
import { checkSetup } from "./check.ts";
import { readSetupOptions, SETUP, type SetupOptions } from "./options.ts";
import {
  chooseModels,
  readModels,
  SetupFailed,
  unlistedHint,
} from "./read_models.ts";

/**
 * `setup CLIENT`: prints the settings of a client to standard output, so that they can be piped, and to
 * standard error where they belong and what else is to be done; with `--check`, tries what the client would
 * do; without a client, lists them.
 *
 * @returns The exit code.
 */
export async function runSetup(
  args: readonly string[],
  tools: CliIo & AskTools,
): Promise<number> {
  const options = readSetupOptions(args, tools.env);
  if (options === undefined) return listClients(tools);
  if ("fault" in options) return badUsage(options.fault, SETUP, tools);
  if (options.check) return await checkSetup(options, tools);
  try {
    await printSettings(options, tools);
    return EXIT.good;
  } catch (error) {
    if (!(error instanceof SetupFailed)) throw error;
    tools.writeError(`${error.message}\n`);
    return EXIT.failed;
  }
}

function listClients({ write }: CliIo): number {
  const width = Math.max(...CLIENTS.map(({ id }) => id.length));
  for (const { id, name } of CLIENTS) {
    write(`${id.padEnd(width)}  ${name}\n`);
  }
  return EXIT.good;
}

async function printSettings(
  options: SetupOptions,
  tools: CliIo & AskTools,
): Promise<void> {
  const { base, client, token } = options;
  const models = await modelsOf(options, tools);
  const place = { base, model: models[0].id, models };
  const { title, text } = client.settings(place);
  tools.writeError(`# ${title}\n\n`);
  tools.write(`${text}\n`);
  const isTold = client.readsEnvironment && token !== "";
  const rest = [
    ...(isTold ? [] : [client.token(TOKEN_PLACEHOLDER)]),
    ...(client.start === undefined ? [] : [client.start(place)]),
  ];
  tools.writeError(rest.map(noted).join(""));
  if (title.startsWith("~")) tools.writeError(`\n# ${MERGE}\n`);
  if (client.note !== undefined) tools.writeError(`\n# ${client.note}\n`);
}

const MERGE = "Where that file is there already, put these settings into it.";

function noted({ title, text }: Snippet): string {
  return `\n# ${title}\n\n${text}\n`;
}

/** Without a token, or without a gateway at hand, there is the one that the reader names. */
async function modelsOf(
  options: SetupOptions,
  tools: CliIo & AskTools,
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
  tools: CliIo & AskTools,
): ReturnType<typeof readModels> {
  try {
    return await readModels(options, tools);
  } catch (error) {
    if (!(error instanceof SetupFailed) || options.model === undefined) {
      throw error;
    }
    tools.writeError(`${error.message}\n`);
    return [];
  }
}
