/**
 * Vercel's AI SDK, a second judge beside the official SDKs. This file names its packages, and not
 * `deno.json`, for the reason in `sdks.ts`; `tests/deno.lock` pins them.
 */
export {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type StepResult,
  streamText,
  tool,
  type ToolSet,
} from "npm:ai@7.0.173";
export { createAnthropic } from "npm:@ai-sdk/anthropic@4.0.105";
export { createOpenAI } from "npm:@ai-sdk/openai@4.0.118";
export { createOpenAICompatible } from "npm:@ai-sdk/openai-compatible@3.0.92";
