import assert from "node:assert/strict";
import { PAGE_PATHS } from "../../src/http/page.ts";
import { ROUTES } from "../../src/http/routes.ts";

const MIB = 1024 * 1024;

Deno.test("ROUTES are the paths of docs/design.md#paths and the page, with their credentials, errors and limits", () => {
  const rows = ROUTES.flatMap((route) => {
    const { methods, paths, protocol, action } = route;
    const does = "open" in action
      ? `${action.open} none`
      : "relay" in action
      ? `${action.relay} ${action.credential}`
      : `${action.response} ${action.credential}`;
    const size = `${route.maxBodyBytes / MIB} MiB`;
    return paths.map((path) =>
      [methods.join("/"), path, does, protocol ?? "own", size].join(" ")
    );
  });
  assert.deepEqual(rows, [
    "POST /api/v1/chat/completions chat_completions bearer chat 8 MiB",
    "POST /v1/chat/completions chat_completions bearer chat 8 MiB",
    "POST /api/coding/paas/v4/chat/completions chat_completions bearer chat 8 MiB",
    "POST /api/v1/completions completions bearer chat 8 MiB",
    "POST /v1/completions completions bearer chat 8 MiB",
    "POST /api/v1/messages messages messages messages 32 MiB",
    "POST /v1/messages messages messages messages 32 MiB",
    "POST /api/:vendor/v1/messages messages messages messages 8 MiB",
    "POST /api/v1/messages/count_tokens count_tokens messages messages 32 MiB",
    "POST /v1/messages/count_tokens count_tokens messages messages 32 MiB",
    "POST /api/:vendor/v1/messages/count_tokens count_tokens messages messages 8 MiB",
    "POST /api/v1/responses responses bearer responses 32 MiB",
    "POST /v1/responses responses bearer responses 32 MiB",
    "POST /api/v1/responses/compact compact bearer responses 32 MiB",
    "POST /v1/responses/compact compact bearer responses 32 MiB",
    "GET /api/v1/responses websocket none responses 0 MiB",
    "GET /v1/responses websocket none responses 0 MiB",
    "GET/HEAD /api/v1/models models either own 0 MiB",
    "GET/HEAD /v1/models models either own 0 MiB",
    "GET/HEAD /api/v1/models/:id+ model either own 0 MiB",
    "GET/HEAD /v1/models/:id+ model either own 0 MiB",
    "GET /api/v1/limits limits bearer own 0 MiB",
    "GET /v1/limits limits bearer own 0 MiB",
    "GET /api/coding/paas/v4/limits limits bearer own 0 MiB",
    "GET /api/:vendor/v1/limits limits bearer own 0 MiB",
    "GET/HEAD /.well-known/opencode opencode_login none own 0 MiB",
    "GET/HEAD /.well-known/opencode/config opencode_config bearer own 0 MiB",
    "GET /api/v1/usage usage bearer own 0 MiB",
    "GET /v1/usage usage bearer own 0 MiB",
    "GET/HEAD /livez live none own 0 MiB",
    "GET/HEAD /healthz live none own 0 MiB",
    "GET/HEAD /readyz ready none own 0 MiB",
    ...PAGE_PATHS.map((path) => `GET/HEAD ${path} page none own 0 MiB`),
    "HEAD /api/hello probe none own 0 MiB",
    "HEAD /api/api/hello probe none own 0 MiB",
    "HEAD /v1/api/hello probe none own 0 MiB",
    "HEAD /api/v1/api/hello probe none own 0 MiB",
    "HEAD /api/:vendor/api/hello probe none own 0 MiB",
  ]);
});
