import { suggestion } from "@gateway/base/problems";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { type Protocol, PROTOCOLS } from "@gateway/base/protocol";
import {
  type GatewayAddress,
  readGateway,
  type RequestTools,
} from "../gateway_client.ts";
import {
  type Client,
  type Model,
  modelsFor,
  PROTOCOL_NAMES,
} from "@gateway/page/wording";
import { endSentence, plainText } from "@gateway/base/text";
import { CommandFailed } from "../arguments.ts";

/** The error of a failed setup. The message gives the reason and an instruction. */
export class SetupFailed extends CommandFailed {
  override readonly name = "SetupFailed";

  constructor(reason: string) {
    super(endSentence(reason));
  }
}

/**
 * Reads the models of a token.
 *
 * @throws {GatewayUnread} When the gateway returns no list of models.
 */
export async function readModels(
  { base, token }: GatewayAddress,
  tools: RequestTools,
): Promise<readonly Model[]> {
  const url = `${base}/v1/models`;
  const { data } = await readGateway({ url, token }, tools, isModelList);
  return data.flatMap(modelOf);
}

function isModelList(
  value: unknown,
): value is { readonly data: readonly JsonValue[] } {
  return isJsonObject(value) && Array.isArray(value.data);
}

/** Parses an entry of the list of models. Returns no model when the id has characters that settings cannot hold. */
function modelOf(entry: JsonValue): readonly Model[] {
  if (!isJsonObject(entry)) return [];
  const { id, protocols, native_protocols: native, display_name: name } = entry;
  if (typeof id !== "string" || plainText(id) !== id) return [];
  return [{
    id,
    protocols: Array.isArray(protocols) ? protocolsIn(protocols) : PROTOCOLS,
    native_protocols: Array.isArray(native) ? protocolsIn(native) : undefined,
    owned_by: typeof entry.owned_by === "string" ? entry.owned_by : undefined,
    display_name: typeof name === "string" ? plainText(name) : undefined,
    context_length: sizeIn(entry.context_length),
    max_output_tokens: sizeIn(entry.max_output_tokens),
    architecture: architectureIn(entry),
  }];
}

function protocolsIn(names: readonly JsonValue[]): readonly Protocol[] {
  return names.flatMap((name) => PROTOCOLS.filter((one) => one === name));
}

function architectureIn({ architecture }: JsonObject): Model["architecture"] {
  const inputs = isJsonObject(architecture)
    ? architecture.input_modalities
    : undefined;
  return Array.isArray(inputs)
    ? { input_modalities: inputs.filter((one) => typeof one === "string") }
    : undefined;
}

function sizeIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 1 ? value : undefined;
}

/**
 * Chooses the models for the settings of a client. The first of them is the model that the client uses.
 *
 * @param wanted The model of `--model`. The list need not contain this model, because some unlisted names work.
 * @throws {SetupFailed} When the client cannot use the wanted model or, without a wanted model, any model of the list.
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
        ? "Cannot choose a model: no model is assigned to this token. Ask the administrator"
        : `Cannot choose a model: ${
          speaks(client)
        }, but no model of this token is served in it. Ask the administrator for one`,
    );
  }
  const found = models.find(({ id }) => id === wanted);
  if (found === undefined) {
    return [
      { id: wanted, protocols: client.protocols.slice(0, 1) },
      ...fitting,
    ];
  }
  if (fitting.includes(found)) {
    return [found, ...fitting.filter((one) => one !== found)];
  }
  throw new SetupFailed(
    `Cannot use ${wanted}: ${
      speaks(client)
    }, but the model is not served in it. Name another model with --model`,
  );
}

function speaks({ name, protocols }: Client): string {
  return `${name} speaks ${
    protocols.map((one) => PROTOCOL_NAMES[one]).join(" or ")
  }`;
}

/** Returns a warning about a model that is not in the list; `undefined` when the list contains the model. */
export function unlistedHint(
  models: readonly Model[],
  id: string,
): string | undefined {
  const ids = models.map((one) => one.id);
  if (ids.includes(id)) return undefined;
  const hint = suggestion(id, ids) || ".";
  return `The gateway does not list ${id} for this token${hint}`;
}
