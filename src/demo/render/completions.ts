import { type ChatUsage, chatUsage } from "./chat.ts";
import type { RenderContext } from "./render.ts";
import type { Script } from "../script.ts";
import { type Step, write, writeData } from "../step.ts";
import { wordsOf } from "../words.ts";

/** An answer of the legacy text completions. */
export interface CompletionAnswer {
  readonly id: string;
  readonly object: "text_completion";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [{
    readonly text: string;
    readonly index: 0;
    readonly logprobs: null;
    readonly finish_reason: "stop" | "length";
  }];
  readonly usage: ChatUsage;
}

/** The text of `script` as a legacy completion; it has neither tools nor reasoning. */
export function renderCompletion(
  script: Script,
  { ids, createdAt, ask }: RenderContext,
): CompletionAnswer {
  const texts = script.blocks.flatMap((block) =>
    block.kind === "text" ? [block.text] : []
  );
  return {
    id: ids.next("cmpl"),
    object: "text_completion",
    created: createdAt,
    model: ask.model,
    choices: [{
      text: texts.join(""),
      index: 0,
      logprobs: null,
      finish_reason: script.stop === "length" ? "length" : "stop",
    }],
    usage: chatUsage(script.usage),
  };
}

/** `answer` as the chunks of a stream; `includeUsage` as in Chat Completions. */
export function* streamCompletion(
  answer: CompletionAnswer,
  options: { readonly includeUsage: boolean },
): Generator<Step> {
  const { choices: [choice], usage, ...frame } = answer;
  const chunk = (choices: readonly object[], counted: ChatUsage | null) => ({
    ...frame,
    choices,
    ...(options.includeUsage ? { usage: counted } : {}),
  });
  for (const text of wordsOf(choice.text)) {
    yield writeData(
      chunk([{ ...choice, text, finish_reason: null }], null),
      1,
    );
  }
  yield writeData(chunk([{ ...choice, text: "" }], null));
  if (options.includeUsage) yield writeData(chunk([], usage));
  yield write("data: [DONE]\n\n");
}
