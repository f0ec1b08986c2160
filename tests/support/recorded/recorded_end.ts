import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * Whether a whole stream came to its protocol's regular end; in Chat a reason to finish is one too, behind
 * which the tokens may be counted.
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
