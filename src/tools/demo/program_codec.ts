import { shortDigest } from "@gateway/base/sha256";
import { FrameWriter } from "@gateway/base/streams/sse";
import {
  type AnswerContext,
  type AnswerEvent,
  type Block,
  type BlockHead,
  type CallerCodec,
  type CanonicalRequest,
  CODECS,
  compactionItem,
  completionsCodec,
  foldAnswer,
  type Tool as CanonicalTool,
  type Turn as CanonicalTurn,
  wantsCompaction,
} from "@gateway/codecs";
import type {
  AskOfBody,
  JsonFormat,
  ReasoningMode,
  Tool,
  ToolChoice,
  Turn,
} from "./ask.ts";
import {
  isThinkingModel,
  OVERLOADED,
  protocolOf,
  type SimulatedOperation,
  type SimulatedProtocol,
} from "./providers.ts";
import {
  type DemoCodec,
  fragmentsOf,
  type RenderContext,
  type Script,
  type ScriptBlock,
  wordsOf,
} from "./script.ts";
import { type Step, write } from "./speak.ts";

const CODEC_BY_OPERATION: Readonly<Record<SimulatedOperation, CallerCodec>> = {
  chat_completions: CODECS.chat,
  completions: completionsCodec,
  messages: CODECS.messages,
  count_tokens: CODECS.messages,
  responses: CODECS.responses,
  compact: CODECS.responses,
};

/**
 * The protocols through the program's own codecs: a simulated provider reads and writes as the gateway does for a
 * caller. `tests/support/upstream/strict_provider` has readers and writers that share no code with them, to judge them.
 */
export const programCodec: DemoCodec = {
  read(operation, body) {
    const codec = CODEC_BY_OPERATION[operation];
    const isCount = operation === "count_tokens";
    // A request to count tokens has no limit, which the codec requires.
    const request = codec.decodeRequest(
      isCount ? { max_tokens: 1, ...body } : body,
    );
    return {
      ask: askOf(request, protocolOf(operation)),
      render(script, context) {
        const answerContext = contextOf(script, context, request);
        const events = () => [...eventsOf(script, context)];
        const stream = (events: readonly Spoken[]) =>
          encode(events, codec.createStreamEncoder(answerContext));
        const answer = () =>
          codec.encodeAnswer(
            foldAnswer(events().map(({ event }) => event)),
            answerContext,
          );
        return {
          whole() {
            if (isCount) return { input_tokens: script.usage.inputTokens };
            return operation === "compact"
              ? { ...compacted(script, context), usage: answer().usage }
              : answer();
          },
          steps: isCount || operation === "compact"
            ? undefined
            : () => stream(events()),
          failingSteps() {
            const all = events();
            const half = all.slice(0, Math.ceil(all.length / 2));
            return stream([...half, { event: FAILURE, wordCount: 0 }]);
          },
        };
      },
    };
  },
  writeError: (error, { protocol, requestId }) =>
    CODECS[protocol].encodeError(error, requestId),
};

const FAILURE: AnswerEvent = { type: "failure", failure: OVERLOADED };

function contextOf(
  { usage }: Script,
  { ids, nowMs, requestId, ask }: RenderContext,
  request: CanonicalRequest,
): AnswerContext {
  return {
    ids,
    nowMs,
    model: ask.model,
    request,
    estimatedInputTokens: usage.inputTokens,
    requestId,
    connectionId: "demo",
    drop() {},
  };
}

/** An event of an answer, sent after the delay of `wordCount` words. */
interface Spoken {
  readonly event: AnswerEvent;
  readonly wordCount: number;
}

function* eventsOf(
  script: Script,
  { ids, nowMs, ask }: RenderContext,
): Generator<Spoken> {
  const { stop, usage } = script;
  const still = (event: AnswerEvent): Spoken => ({ event, wordCount: 0 });
  yield still({
    type: "start",
    id: "",
    model: ask.model,
    createdAtMs: nowMs,
    usage: { ...usage, outputTokens: 1, reasoningTokens: 0 },
  });
  for (const [index, block] of script.blocks.entries()) {
    yield still({ type: "block-start", index, block: headOf(block, ids) });
    if (block.kind === "reasoning" && block.isShown) {
      yield still({ type: "block-part", index, form: "summary" });
    }
    for (const text of deltasOf(block)) {
      yield { event: { type: "block-delta", index, text }, wordCount: 1 };
    }
    const form = SEAL_FORMS[ask.protocol];
    if (block.kind === "reasoning" && form !== undefined) {
      const sealed = {
        protocol: ask.protocol,
        form,
        value: shortDigest(block.text),
      };
      yield still({ type: "block-seal", index, sealed });
    }
    yield still({ type: "block-end", index });
  }
  yield still({ type: "end", stop, usage });
}

/** The form of sealed reasoning in each protocol that has one. */
const SEAL_FORMS: Readonly<Partial<Record<SimulatedProtocol, string>>> = {
  messages: "signature",
  responses: "encrypted_content",
};

function headOf(
  block: ScriptBlock,
  ids: RenderContext["ids"],
): BlockHead {
  if (block.kind === "reasoning") return { kind: "reasoning" };
  if (block.kind !== "call") return { kind: "text" };
  const { kind, name, namespace } = block.tool;
  return {
    kind: kind === "custom" ? "custom_call" : "function_call",
    id: ids.next("call"),
    name,
    namespace,
  };
}

function deltasOf(block: ScriptBlock): string[] {
  if (block.kind === "call") return fragmentsOf(block.input);
  return block.kind === "reasoning" && !block.isShown
    ? []
    : wordsOf(block.text);
}

function* encode(
  events: readonly Spoken[],
  encoder: ReturnType<CallerCodec["createStreamEncoder"]>,
): Generator<Step> {
  const frames = new FrameWriter();
  for (const { event, wordCount } of events) {
    encoder.push(event, frames.write);
    const text = frames.take();
    if (text !== "") yield write(text, wordCount);
  }
}

/** Returns the answer to a request for compaction, without its usage: the user's messages and one sealed item. */
function compacted(
  { blocks }: Script,
  { ids, nowMs, ask }: RenderContext,
): object {
  const kept = ask.turns.filter((turn) => turn.role === "user");
  return {
    id: ids.next("resp"),
    object: "response.compaction",
    created_at: Math.floor(nowMs / 1000),
    output: [
      ...kept.map((turn) => ({
        id: ids.next("msg"),
        type: "message",
        role: "user",
        status: "completed",
        content: turn.texts.map((text) => ({ type: "input_text", text })),
      })),
      ...blocks.map((block) =>
        compactionItem(ids.next("cmp"), deltasOf(block).join(""))
      ),
    ],
  };
}

function askOf(
  request: CanonicalRequest,
  protocol: SimulatedProtocol,
): AskOfBody {
  return {
    isStream: request.stream,
    turns: request.turns.flatMap(turnsOf),
    tools: request.tools.flatMap((tool) => toolsOf(tool)),
    toolChoice: choiceOf(request.toolChoice),
    mayCallInParallel: request.parallelTools !== false,
    reasoning: reasoningOf(request, protocol),
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: request.stop ?? [],
    format: formatOf(request.format),
    isCompaction: wantsCompaction(request),
  };
}

function turnsOf({ role, blocks }: CanonicalTurn): Turn[] {
  if (role === "tool") {
    return blocks.filter((block) => block.kind === "tool_result")
      .map(({ callId, content }) => turnOf("tool", content, callId));
  }
  if (blocks.every(({ kind }) => kind === "opaque")) return [];
  return [turnOf(role === "developer" ? "system" : role, blocks)];
}

function turnOf(
  role: Turn["role"],
  blocks: readonly Block[],
  callId?: string,
): Turn {
  return {
    role,
    texts: blocks.filter((block) => block.kind === "text")
      .map(({ text }) => text),
    attachmentCount: blocks.filter(({ kind }) => ATTACHMENTS.includes(kind))
      .length,
    calls: blocks.filter((block) =>
      block.kind === "function_call" || block.kind === "custom_call"
    ),
    callId,
  };
}

const ATTACHMENTS: readonly Block["kind"][] = ["image", "file", "audio"];

/** Returns the tools that the caller runs. */
function toolsOf(tool: CanonicalTool, namespace?: string): Tool[] {
  switch (tool.kind) {
    case "hosted":
      return [];
    case "namespace":
      return tool.tools.flatMap((inner) => toolsOf(inner, tool.name));
    default: {
      const { kind, name, description = "" } = tool;
      const schema = tool.kind === "function" ? tool.parameters ?? {} : {};
      return [{ kind, name, namespace, description, schema }];
    }
  }
}

function choiceOf(choice: CanonicalRequest["toolChoice"]): ToolChoice {
  switch (choice?.type) {
    case "none":
    case "required":
      return { mode: choice.type, names: undefined };
    case "tool":
      return { mode: "required", names: [choice.tool.name] };
    case "allowed":
      return { mode: choice.mode, names: choice.tools.map(({ name }) => name) };
    default:
      return { mode: "auto", names: undefined };
  }
}

/** Returns the reasoning mode. Without a requested summary, a Responses provider hides its reasoning. */
function reasoningOf(
  { model, reasoning }: CanonicalRequest,
  protocol: SimulatedProtocol,
): ReasoningMode {
  const { mode, effort, summary } = reasoning ?? {};
  const isThinking = isThinkingModel(model);
  const isAsked = mode !== undefined || effort !== undefined ||
    summary !== undefined;
  if (mode === "off" || !isAsked && !isThinking) return "none";
  const isHidden = summary === "none" ||
    summary === undefined && protocol === "responses" && !isThinking;
  return isHidden ? "hidden" : "shown";
}

function formatOf(
  format: CanonicalRequest["format"],
): JsonFormat | undefined {
  return format &&
    { schema: format.type === "schema" ? format.schema : undefined };
}
