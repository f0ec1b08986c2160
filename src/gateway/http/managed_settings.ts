import { isJsonObject, type JsonValue, parseJson } from "@gateway/base/json";
import { sha256Hex } from "@gateway/base/sha256";
import { knownModels, type ModelsContext } from "./models.ts";
import { settingsModel } from "./opencode.ts";
import { claudeModels } from "@gateway/page/settings";

/** After a sign-in at a gateway, Claude Code reads this path at each start and once an hour. */
export const MANAGED_SETTINGS_PATH = "/managed/settings";

/**
 * Returns the settings of Claude Code for a caller who signed in at the gateway: the picker of the caller's models, and
 * the variables that `setup claude` prints. The form is that of Anthropic's own gateway (`GET /protocol` in npm's
 * `@anthropic-ai/claude-code` 2.1.332). Claude Code sends the checksum of the settings that it has. A caller without a
 * model for Claude Code gets a 404: no settings.
 *
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function managedSettingsResponse(
  context: ModelsContext,
): Promise<Response> {
  const models = (await knownModels(context)).map(settingsModel)
    .filter(({ protocols }) => protocols.includes("messages"));
  const [first] = models;
  const cache = { "cache-control": "no-store" };
  if (first === undefined) {
    return new Response(null, { status: 404, headers: cache });
  }
  const settings = parseJson(
    JSON.stringify(claudeModels({ model: first.id, models })),
  );
  const digest = sha256Hex(JSON.stringify(withSortedKeys(settings)));
  const checksum = `sha256:${digest}`;
  const headers = { ...cache, etag: `"${checksum}"` };
  return context.headers.get("if-none-match") === headers.etag
    ? new Response(null, { status: 304, headers })
    : Response.json({ uuid: digest, checksum, settings }, { headers });
}

function withSortedKeys(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) {
    return value.map((one) => withSortedKeys(one) ?? null);
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value).sort().map((key) => [key, withSortedKeys(value[key])]),
  );
}
