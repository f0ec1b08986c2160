import { GatewayError } from "../core/error.ts";
import { methodNotAllowed } from "./router.ts";

/**
 * The error for a `GET` on a path that only takes `POST`. WebSocket is not supported, and
 * 426 is what makes Codex fall back to HTTP at once (docs/design.md#paths).
 */
export function websocketError(headers: Headers): GatewayError {
  const isUpgrade = /\bwebsocket\b/i.test(headers.get("upgrade") ?? "");
  if (!isUpgrade) return methodNotAllowed(["POST"]);
  return new GatewayError(
    "upgrade_required",
    "Cannot open a WebSocket: the gateway does not support them, send a POST and read server-sent events",
    { code: "websocket_not_supported" },
  );
}
