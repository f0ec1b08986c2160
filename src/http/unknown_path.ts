import {
  DEFAULT_PROTOCOL,
  MAIN_OPERATIONS,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
} from "../core/protocol.ts";
import { requestTarget, type TargetSource } from "./request_target.ts";

/** How the path begins that asks a model, behind a prefix and up to the model's name. */
const STARTS: readonly (readonly [protocol: Protocol, start: string])[] =
  PROTOCOLS.map((protocol) => {
    const [start = ""] = OPERATIONS[MAIN_OPERATIONS[protocol]].path.split(":");
    return [protocol, start.endsWith("/") ? start : `${start}/`];
  });

/** In whose words to answer on a path that is none: a client that mistypes one can still read the error. */
export function protocolOfUnknownPath(request: TargetSource): Protocol {
  const { path } = requestTarget(request);
  const named = STARTS.findLast(([, start]) => `${path}/`.includes(start));
  return named?.[0] ?? DEFAULT_PROTOCOL;
}
