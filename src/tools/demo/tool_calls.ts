import { isJsonObject, type JsonObject, parseJson } from "@gateway/base/json";
import type { CanonicalRequest } from "@gateway/codecs";
import { exampleOf } from "./schema_example.ts";
import { type Ask, freshResults, promptOf } from "./script.ts";

/** A tool that the caller runs. */
interface Callable {
  readonly kind: "function" | "custom";
  readonly name: string;
  /** The namespace of a Responses tool; each call of the tool repeats it. */
  readonly namespace?: string;
  readonly description?: string | undefined;
  /** The JSON schema of the arguments. Empty for a custom tool, because its input is free text. */
  readonly schema: JsonObject;
}

/** Returns the tools that the caller runs, including those in namespaces. */
export function callableTools(tools: CanonicalRequest["tools"]): Callable[] {
  return tools.flatMap((tool): Callable[] => {
    if (tool.kind === "hosted") return [];
    if (tool.kind === "namespace") {
      return callableTools(tool.tools)
        .map((inner) => ({ ...inner, namespace: tool.name }));
    }
    const { kind, name, description } = tool;
    const schema = tool.kind === "function" ? tool.parameters ?? {} : {};
    return [{ kind, name, description, schema }];
  });
}

/**
 * Returns the tools that the demo calls. These are the tools that the last user message requests. If `tool_choice`
 * forces a call and the message requests no tool, this is the first tool. After tool results, only a forced call is
 * made. A message requests a tool with "use", "call", "run" or "invoke" before its name, or with a name that is not a
 * plain word (`get_weather`). A message with the word "tool" requests all tools that it names, or the first tool if it
 * names no tool.
 */
export function toolsToCall(ask: Ask): readonly Callable[] {
  const { toolChoice: choice } = ask;
  if (choice?.type === "none") return [];
  const allowed = choice?.type === "allowed"
    ? choice.tools
    : choice?.type === "tool"
    ? [choice.tool]
    : undefined;
  const offered = callableTools(ask.tools).filter(({ name }) =>
    allowed === undefined || allowed.some((one) => one.name === name)
  );
  const isForced = choice?.type === "required" || choice?.type === "tool" ||
    choice?.type === "allowed" && choice.mode === "required";
  const requested = !isForced && freshResults(ask).length > 0
    ? []
    : requestedTools(promptOf(ask), offered);
  const chosen = requested.length === 0 && isForced
    ? offered.slice(0, 1)
    : requested;
  return ask.parallelTools === false ? chosen.slice(0, 1) : chosen;
}

function requestedTools(
  prompt: string,
  tools: readonly Callable[],
): readonly Callable[] {
  const named = tools.filter(({ name }) =>
    new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`).test(prompt)
  );
  const speaksOfTools = /\btools?\b/i.test(prompt);
  if (speaksOfTools) return named.length > 0 ? named : tools.slice(0, 1);
  return named.filter(({ name }) =>
    !isPlainWord(name) || isInvoked(prompt, name)
  );
}

/**
 * Returns true for a name such as `Read` or `search`. A message may contain such a word by chance, unlike
 * `get_weather`.
 */
function isPlainWord(name: string): boolean {
  return /^[A-Z]?[a-z]+$/.test(name);
}

function isInvoked(prompt: string, name: string): boolean {
  return new RegExp(
    `\\b(use|call|run|invoke)\\s+(the\\s+)?[\`"']?${RegExp.escape(name)}\\b`,
    "i",
  ).test(prompt);
}

/**
 * Returns the input of a tool call: the first JSON object of the prompt. If the prompt has no JSON object, makes the
 * input from the tool's schema. A custom tool gets the first fenced block of the prompt or, without such a block, a
 * fixed text.
 */
export function callInput(tool: Callable, prompt: string): string {
  if (tool.kind === "custom") {
    return prompt.match(/```[^\n]*\n([\s\S]*?)\n?```/)?.[1] ??
      CUSTOM_INPUTS[tool.name] ?? "hello from the demo";
  }
  const given = objectInText(prompt);
  if (given !== undefined) return given;
  const example = exampleOf(tool.schema);
  return JSON.stringify(isJsonObject(example) ? example : {});
}

/** The inputs of tools of well-known clients. The grammars of these tools reject free text. */
const CUSTOM_INPUTS: Readonly<Record<string, string>> = {
  apply_patch:
    "*** Begin Patch\n*** Add File: demo.txt\n+hello from the demo\n*** End Patch",
  exec: 'console.log("hello from the demo");',
};

/** Returns the first JSON object in `text`, unchanged. */
function objectInText(text: string): string | undefined {
  const start = text.indexOf("{");
  if (start < 0) return undefined;
  for (
    let end = text.lastIndexOf("}");
    end > start;
    end = text.lastIndexOf("}", end - 1)
  ) {
    const candidate = text.slice(start, end + 1);
    if (isJsonObject(parseJson(candidate))) return candidate;
  }
  return undefined;
}
