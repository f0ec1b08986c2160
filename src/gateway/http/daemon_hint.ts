import { GatewayError } from "@gateway/base/error";
import type { HeaderFields } from "@gateway/base/header_fields";

/**
 * Adds a hint to the error of a refused token, for people at the screen of Codex. The background server of Codex keeps
 * the variables of its first start, and so may use an old token. The hint uses the words of Codex 0.171. Returns other
 * errors as they are.
 */
export function withDaemonHint(error: unknown, headers: HeaderFields): unknown {
  return error instanceof GatewayError && error.kind === "unauthenticated" &&
      headers.get("originator") === "codex-tui"
    ? new GatewayError(
      error.kind,
      `${error.message} If your token is new, choose /daemon in Codex, then "Restart background server".`,
      { headers: error.headers, ...error.code && { code: error.code } },
    )
    : error;
}
