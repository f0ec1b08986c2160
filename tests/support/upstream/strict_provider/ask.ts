import type { JsonObject, JsonValue } from "../../../../src/base/json.ts";
import {
  type DemoCodec,
  piecesOf,
  type Script,
} from "../../../../src/tools/demo/script.ts";
import type { Block } from "../../../../src/codecs/canonical/content/block.ts";

type AskedRequest = ReturnType<DemoCodec["read"]>["request"];

/** A request as the strict provider's own readers understand it. */
export interface AskOfBody {
  readonly isStream: boolean;
  /** The conversation, oldest turn first; a system text is a separate turn. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** True when one answer may call several tools. */
  readonly mayCallInParallel: boolean;
  readonly reasoning: ReasoningMode;
  /** `undefined` means no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** Set when the answer must be JSON. */
  readonly format: JsonFormat | undefined;
  /** True when the conversation is to be compacted into one sealed item instead of answered. */
  readonly isCompaction: boolean;
}

/** With `hidden`, the model reasons but shows only a sealed token. */
export type ReasoningMode = "none" | "hidden" | "shown";

/** One turn of the conversation. A tool result is a separate turn. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text parts, in order. */
  readonly texts: readonly string[];
  /** The number of images, files and other parts that are not text. */
  readonly attachmentCount: number;
  /** The tools that an assistant called. */
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  /** For the role `tool`: the id of the call that the result belongs to. */
  readonly callId: string | undefined;
}

/** A tool in a request. */
export interface Tool {
  readonly kind: "function" | "custom";
  readonly name: string;
  /** The namespace of a Responses tool; each call of the tool repeats it. */
  readonly namespace: string | undefined;
  readonly description: string;
  /** The JSON schema of the arguments; empty for a custom tool, whose input is free text. */
  readonly schema: JsonObject;
}

/** The permission or the obligation to call tools; `names` restricts the tools. */
export interface ToolChoice {
  readonly mode: "auto" | "none" | "required";
  readonly names: readonly string[] | undefined;
}

/** The demand for JSON: of any shape, or as `schema` defines it. */
export interface JsonFormat {
  readonly schema: JsonObject | undefined;
}

/** Returns `value` when it is a string, else the empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Returns `value` when it is a number, else `undefined`. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Returns the request for the demo, which composes the answer. */
export function requestOf(ask: AskOfBody): AskedRequest {
  const { format, toolChoice: { mode, names } } = ask;
  return {
    stream: ask.isStream,
    turns: [
      ...ask.turns.map((turn) => ({
        role: turn.role,
        blocks: blocksOf(turn),
      })),
      ...ask.isCompaction ? [COMPACTION_TRIGGER] : [],
    ],
    tools: ask.tools.map(toolOf),
    toolChoice: names === undefined || mode === "none" ? { type: mode } : {
      type: "allowed",
      mode,
      tools: names.map((name) => ({ kind: "function", name })),
    },
    parallelTools: ask.mayCallInParallel,
    format: format?.schema === undefined
      ? format && { type: "json" }
      : { type: "schema", schema: format.schema },
    maxOutputTokens: ask.maxOutputTokens,
    stop: ask.stopSequences,
    reasoning: ask.reasoning === "none" ? { mode: "off" } : {
      mode: "adaptive",
      summary: ask.reasoning === "hidden" ? "none" : "auto",
    },
  };
}

const COMPACTION_TRIGGER: AskedRequest["turns"][number] = {
  role: "user",
  blocks: [{
    kind: "opaque",
    protocol: "responses",
    type: "compaction_trigger",
    value: null,
    weight: "ignore",
  }],
};

function blocksOf(turn: Turn): Block[] {
  const content = [
    ...turn.texts.map((text) => ({ kind: "text" as const, text })),
    ...Array.from({ length: turn.attachmentCount }, () => ({
      kind: "file" as const,
      source: { type: "text" as const, text: "" },
    })),
  ];
  if (turn.role === "tool") {
    return [{
      kind: "tool_result",
      callId: turn.callId ?? "",
      callKind: "function",
      content,
      isError: false,
    }];
  }
  const calls = turn.calls.map(({ id, name }) => ({
    kind: "function_call" as const,
    ...{ id, name, arguments: "" },
  }));
  return [...content, ...calls];
}

function toolOf(
  { kind, name, namespace, description, schema }: Tool,
): AskedRequest["tools"][number] {
  const tool = kind === "custom"
    ? { kind, name, description }
    : { kind, name, description, parameters: schema };
  return namespace === undefined
    ? tool
    : { kind: "namespace", name: namespace, tools: [tool] };
}

/** The answer, as the strict provider's own renderers write it. */
export interface StrictScript extends Omit<Script, "blocks"> {
  readonly blocks: readonly ScriptBlock[];
}

/** A block of an answer. */
export type ScriptBlock =
  | {
    readonly kind: "reasoning";
    readonly text: string;
    readonly isShown: boolean;
  }
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "call";
    readonly tool: Pick<Tool, "kind" | "name" | "namespace">;
    /** The JSON of the arguments, or the free text of a custom tool. */
    readonly input: string;
  }
  | { readonly kind: "compaction"; readonly text: string };

/** Returns the answer that the demo composed. */
export function scriptOf(script: Script, isCompaction: boolean): StrictScript {
  return {
    ...script,
    blocks: script.blocks.map(({ kind, text, name, namespace, isHidden }) => {
      switch (kind) {
        case "reasoning":
          return { kind, text, isShown: isHidden !== true };
        case "text":
          return { kind: isCompaction ? "compaction" : kind, text };
        case "function_call":
        case "custom_call":
          return {
            kind: "call",
            tool: {
              kind: kind === "custom_call" ? "custom" : "function",
              name: name ?? "",
              namespace,
            },
            input: text,
          };
      }
    }),
  };
}

/** Splits a text after each blank, as providers stream it. */
export function wordsOf(text: string): string[] {
  return piecesOf({ kind: "text", text });
}

/** Splits the input of a call into short fragments, as providers stream it. */
export function fragmentsOf(text: string): string[] {
  return piecesOf({ kind: "function_call", text });
}
