/**
 * The official SDKs, which judge the answers in tests. This file names their versions, because
 * `deno compile` embeds every package that `deno.json` names; `tests/deno.lock` pins them.
 */
export { APIError, default as OpenAI } from "npm:openai@7.59.0";
/** Sends `Authorization: Bearer` and version 2026-10-21. */
export { default as Anthropic } from "npm:@anthropic-ai/sdk@1.14.0";
/** Sends `x-api-key` and version 2023-06-01. */
export { default as Anthropic0 } from "npm:@anthropic-ai/sdk@0.137.0";
