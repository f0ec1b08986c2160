/**
 * The settings of each client for this gateway. The page and `model-gateway setup` show the same texts.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./settings_text.js").Client} Client
 */
import { protocolFor } from "./settings_text.js";
import { AGENTS } from "./settings_agents.js";
import { EDITORS } from "./settings_editors.js";
import { SDKS } from "./settings_sdks.js";

/** @type {readonly Client[]} */
export const CLIENTS = [...AGENTS, ...EDITORS, ...SDKS];

/**
 * Returns the models that a client supports.
 *
 * @param {readonly Model[]} models
 * @param {Pick<Client, "protocols">} client
 * @returns {readonly Model[]}
 */
export function modelsFor(models, client) {
  return models.filter((model) => protocolFor(model, client) !== undefined);
}
