import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * Returns true when a stream ends as its protocol demands. In Chat Completions, a finish reason is such an
 * end, and a chunk with usage may follow it.
 */
export function endsWell(text: string, protocol: Protocol): boolean {
  const events = framesOf(text + "\n\n");
  if (protocol === "chat" && events.at(-1)?.data === "[DONE]") return true;
  const objects = events.map(({ data }) => parseJson(data))
    .filter(isJsonObject);
  return protocol === "chat"
    ? objects.slice(-2).some(hasFinished)
    : objects.some(({ type }) => ENDS[protocol].includes(String(type)));
}

const ENDS: Readonly<Record<Exclude<Protocol, "chat">, readonly string[]>> = {
  messages: ["message_stop"],
  responses: ["response.completed", "response.incomplete", "response.failed"],
};

function hasFinished({ choices }: JsonObject): boolean {
  return Array.isArray(choices) &&
    choices.some((choice) =>
      isJsonObject(choice) && typeof choice.finish_reason === "string"
    );
}
