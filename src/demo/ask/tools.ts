import { isJsonObject, parseJson } from "../../core/json.ts";
import { type Ask, freshResults, promptOf, type Tool } from "./ask.ts";
import { exampleOf } from "../schema_example.ts";

/**
 * The tools that the demo calls: those that `tool_choice` forces; else those that the last user message
 * asks for, unless their results have just come back. Asking is to say "use", "call", "run" or "invoke"
 * before the tool's name, to write a name that is no plain word (`get_weather`), or to write "tool",
 * which takes the tools named after all, or else the first one.
 */
export function toolsToCall(ask: Ask): readonly Tool[] {
  const { mode, names } = ask.toolChoice;
  const offered = ask.tools.filter((tool) =>
    names === undefined || names.includes(tool.name)
  );
  if (mode === "none") return [];
  const prompt = promptOf(ask);
  const asked = mode === "auto" && freshResults(ask).length > 0
    ? []
    : askedFor(prompt, offered);
  const chosen = asked.length === 0 && mode === "required"
    ? offered.slice(0, 1)
    : asked;
  return ask.mayCallInParallel ? chosen : chosen.slice(0, 1);
}

function askedFor(prompt: string, tools: readonly Tool[]): readonly Tool[] {
  const named = tools.filter((tool) => mentions(prompt, tool.name));
  const speaksOfTools = /\btools?\b/i.test(prompt);
  if (speaksOfTools) return named.length > 0 ? named : tools.slice(0, 1);
  return named.filter((tool) =>
    !isPlainWord(tool.name) || isInvoked(prompt, tool.name)
  );
}

function mentions(prompt: string, name: string): boolean {
  return new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`).test(prompt);
}

/** `Read` and `search` are words that a message may hold by chance; `get_weather` and `listFiles` are not. */
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
 * What the tool is called with: the first JSON object of the prompt when there is one, else arguments
 * made from the tool's schema. A custom tool gets the first fenced block of the prompt, else a text that
 * fits its name.
 */
export function callInput(tool: Tool, prompt: string): string {
  if (tool.kind === "custom") {
    return fencedBlock(prompt) ?? CUSTOM_INPUTS[tool.name] ??
      "hello from the demo";
  }
  const given = objectInText(prompt);
  if (given !== undefined) return given;
  const example = exampleOf(tool.schema);
  return JSON.stringify(isJsonObject(example) ? example : {});
}

/** Grammar tools of well-known clients, which would reject free text. */
const CUSTOM_INPUTS: Readonly<Record<string, string>> = {
  apply_patch:
    "*** Begin Patch\n*** Add File: demo.txt\n+hello from the demo\n*** End Patch",
  exec: 'console.log("hello from the demo");',
};

function fencedBlock(text: string): string | undefined {
  return text.match(/```[^\n]*\n([\s\S]*?)\n?```/)?.[1];
}

/** The first object of JSON in `text`, as it is written there. */
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
