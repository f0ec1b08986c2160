/**
 * Vercel's AI SDK, a second judge of the tests beside the official SDKs. Its packages are named here with
 * their versions and not in `deno.json`, for the reason that `sdks.ts` gives; `tests/deno.lock` pins them.
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
