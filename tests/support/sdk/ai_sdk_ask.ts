import assert from "node:assert/strict";
import {
  generateText,
  isStepCount,
  type LanguageModel,
  type StepResult,
  streamText,
  type ToolSet,
} from "./ai_sdk.ts";

/** A request through the AI SDK. */
export interface AiSdkQuestion {
  readonly model: LanguageModel;
  readonly prompt: string;
  /** The SDK runs these tools once and sends their results in a second request. */
  readonly tools: ToolSet;
}

/** The facts that the caller reads in one answer. */
export interface AiSdkFacts {
  readonly text: string;
  readonly reasoning: string | undefined;
  /** Without ids, which differ in every answer. */
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly finish: string;
  /** In tokens. */
  readonly usage: {
    readonly input: number | undefined;
    readonly cached: number | undefined;
    readonly written: number | undefined;
    readonly output: number | undefined;
    readonly reasoning: number | undefined;
  };
  /** The SDK's warnings about fields that it dropped or did not understand. */
  readonly warnings: readonly unknown[];
}

/** Requests answers without streaming. */
export async function askWhole(question: AiSdkQuestion): Promise<AiSdkFacts[]> {
  const { steps } = await generateText(optionsOf(question));
  return steps.map(factsOf);
}

/**
 * Requests streams.
 *
 * @throws The error that the SDK reports, if any.
 */
export async function askStreamed(
  question: AiSdkQuestion,
): Promise<AiSdkFacts[]> {
  const errors: unknown[] = [];
  const result = streamText({
    ...optionsOf(question),
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  if (errors.length > 0) throw errors[0];
  const steps = (await result.steps).map(factsOf);
  assert.equal(text, steps.map((step) => step.text).join(""));
  return steps;
}

function optionsOf(question: AiSdkQuestion) {
  return {
    ...question,
    stopWhen: isStepCount(2),
    maxOutputTokens: 1000,
    maxRetries: 0,
    // The gateway stores no answers, so the SDK must send the conversation itself.
    providerOptions: { openai: { store: false } },
  };
}

function factsOf(step: StepResult<ToolSet>): AiSdkFacts {
  const { inputTokens, inputTokenDetails, outputTokens, outputTokenDetails } =
    step.usage;
  return {
    text: step.text,
    reasoning: step.reasoningText,
    calls: step.toolCalls.map(({ toolName, input }) => ({
      name: toolName,
      input,
    })),
    finish: step.finishReason,
    usage: {
      input: inputTokens,
      cached: inputTokenDetails.cacheReadTokens,
      written: inputTokenDetails.cacheWriteTokens,
      output: outputTokens,
      reasoning: outputTokenDetails.reasoningTokens,
    },
    warnings: step.warnings ?? [],
  };
}
