import { GatewayError } from "@gateway/base/error";
import type { HeaderFields } from "@gateway/base/header_fields";

/** Returns the error for a path that has other methods. The error does not quote the caller's method. */
export function methodNotAllowed(allowed: readonly string[]): GatewayError {
  return new GatewayError(
    "method_not_allowed",
    `Cannot serve this method on this path: it is not supported. Use ${
      allowed.join(" or ")
    }.`,
    { headers: { allow: allowed.join(", ") } },
  );
}

/**
 * Returns the error for a `GET` on a path that only takes `POST`. A request for a WebSocket gets a 426, because a 426
 * makes Codex fall back to HTTP at once (docs/design.md#paths).
 */
export function websocketError(headers: HeaderFields): GatewayError {
  const isUpgrade = /\bwebsocket\b/i.test(headers.get("upgrade") ?? "");
  if (!isUpgrade) return methodNotAllowed(["POST"]);
  return new GatewayError(
    "upgrade_required",
    "Cannot open a WebSocket: the gateway does not support them. Send a POST and read server-sent events.",
    { code: "websocket_not_supported" },
  );
}
