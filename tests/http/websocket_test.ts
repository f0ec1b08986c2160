import assert from "node:assert/strict";
import { websocketError } from "../../src/http/websocket.ts";

Deno.test("websocketError() turns an upgrade away with 426, which makes Codex fall back", () => {
  for (const upgrade of ["websocket", "WebSocket", "h2c, websocket"]) {
    const error = websocketError(new Headers({ upgrade }));
    assert.equal(error.status, 426);
    assert.equal(error.code, "websocket_not_supported");
    assert.match(error.message, /send a POST and read server-sent events/);
  }
});

Deno.test("websocketError() tells a plain GET that the path takes POST", () => {
  for (const headers of [{}, { upgrade: "h2c" }, { upgrade: "websockets" }]) {
    const error = websocketError(new Headers(headers));
    assert.equal(error.status, 405);
    assert.equal(error.headers.allow, "POST");
  }
});
