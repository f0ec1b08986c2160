import type { JsonObject } from "../../src/base/json.ts";
import {
  readRequest,
  writeRequest,
} from "../../src/codecs/translate_request.ts";

type Settings = Parameters<typeof writeRequest>[1];
type Optional = "strict" | "streamOnly" | "force" | "omit";

/** The caller's protocol, the target and the settings of the connection, which are those of a new one by default. */
type RequestTranslation =
  & Omit<Settings, Optional>
  & Partial<Pick<Settings, Optional>>
  & {
    /** The caller's protocol. */
    readonly from: Parameters<typeof readRequest>[1];
  };

/** Translates a request. */
export function translateRequest(
  body: JsonObject,
  { from, ...translation }: RequestTranslation,
): ReturnType<typeof writeRequest> {
  return writeRequest(readRequest(body, from), {
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
    ...translation,
  });
}
