import { suggestion } from "../../config/problems.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import {
  type AskTools,
  type GatewayAddress,
  GatewayUnread,
  readGateway,
} from "../gateway_client.ts";
import type { Model } from "../../http/wording/models.js";
import { modelsFor } from "../../http/wording/settings.js";
import type { Client } from "../../http/wording/settings_text.js";
import { plainText } from "../text.ts";

/** Something is not as a client needs it. */
export class SetupFailed extends Error {
  override readonly name = "SetupFailed";
}

/**
 * Reads the models of a token.
 *
 * @throws {SetupFailed} Where the gateway gives none.
 */
export async function readModels(
  { base, token }: GatewayAddress,
  tools: AskTools,
): Promise<readonly Model[]> {
  const url = `${base}/v1/models`;
  try {
    const { data } = await readGateway({ url, token }, tools, isModelList);
    return data.flatMap(modelOf);
  } catch (error) {
    if (!(error instanceof GatewayUnread)) throw error;
    throw new SetupFailed(error.message);
  }
}

function isModelList(
  value: unknown,
): value is { readonly data: readonly JsonValue[] } {
  return isJsonObject(value) && Array.isArray(value.data);
}

/** What cannot be written into settings as it is, is left out. */
function modelOf(entry: JsonValue): readonly Model[] {
  if (!isJsonObject(entry)) return [];
  const { id, protocols, display_name: name } = entry;
  if (typeof id !== "string" || plainText(id) !== id) return [];
  return [{
    id,
    protocols: PROTOCOLS.filter((one) =>
      Array.isArray(protocols) ? protocols.includes(one) : true
    ),
    display_name: typeof name === "string" ? plainText(name) : undefined,
    context_length: sizeIn(entry.context_length),
    max_output_tokens: sizeIn(entry.max_output_tokens),
  }];
}

const PROTOCOLS = ["chat", "messages", "responses"] as const;

function sizeIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 1 ? value : undefined;
}

/**
 * The models to set a client up for, the one to begin with first.
 *
 * @param wanted The one that the reader has named; it need not be listed, since some names work without.
 * @throws {SetupFailed} Where the client cannot ask it, or none.
 */
export function chooseModels(
  models: readonly Model[],
  client: Client,
  wanted: string | undefined,
): readonly [Model, ...Model[]] {
  const fitting = modelsFor(models, client);
  if (wanted === undefined) {
    const [first, ...rest] = fitting;
    if (first !== undefined) return [first, ...rest];
    throw new SetupFailed(
      models.length === 0
        ? "no model is assigned to this token, ask the administrator"
        : `${client.name} speaks ${client.protocol}, and none of this token's models is served that way`,
    );
  }
  const found = models.find(({ id }) => id === wanted);
  if (found === undefined) {
    return [{ id: wanted, protocols: [client.protocol] }, ...fitting];
  }
  if (fitting.includes(found)) {
    return [found, ...fitting.filter((one) => one !== found)];
  }
  throw new SetupFailed(
    `${client.name} speaks ${client.protocol}, and ${wanted} is not served that way`,
  );
}

/**
 * What to say of a model that is not in the list.
 *
 * @returns A sentence; `undefined` where it is there.
 */
export function unlistedHint(
  models: readonly Model[],
  id: string,
): string | undefined {
  const ids = models.map((one) => one.id);
  if (ids.includes(id)) return undefined;
  const hint = suggestion(id, ids) || ".";
  return `The gateway does not list ${id} for this token${hint}`;
}
