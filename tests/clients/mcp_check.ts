import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { targetOf } from "../support/dialects/targets.ts";
import { translateRequest } from "../support/translate_request.ts";
import { listTools, MCP_SERVERS } from "./mcp_servers.ts";
import { ORACLES, type SentTool } from "./tool_oracles.ts";

// The tools of well-known MCP servers, sent from each protocol to each host, are judged by the host's strictest known
// rules. A server that cannot be downloaded or does not start is named and left out.

interface Host {
  readonly oracle: string;
  readonly to: Protocol;
  readonly service: string;
  readonly model: string;
}

const HOSTS: readonly Host[] = [
  ["claude", "messages", "anthropic", "claude-opus-5-5"],
  ["openai", "chat", "openai", "gpt-4.1"],
  ["openai", "responses", "openai", "gpt-5.5"],
  ["gemini", "chat", "gemini", "gemini-3-pro"],
  ["kimi", "chat", "moonshot", "kimi-k3"],
  ["llamacpp", "chat", "llamacpp", "qwen3-32b"],
].map(([oracle = "", to = "", service = "", model = ""]) => ({
  oracle,
  to: to === "messages" || to === "responses" ? to : "chat",
  service,
  model,
}));

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

if (import.meta.main) {
  const refused = await judgeServers();
  Deno.exit(refused === 0 ? 0 : 1);
}

/** Prints the faults of each server and host, and returns their number. */
async function judgeServers(): Promise<number> {
  const totals = new Map<string, number>();
  let tools = 0;
  for (const server of MCP_SERVERS) {
    const listed = await listTools(server);
    if (typeof listed === "string") {
      console.log(`${server[0]}: left out, ${listed}`);
      continue;
    }
    tools += listed.length;
    console.log(`${server[0]}: ${listed.length} tools`);
    for (const tool of listed) {
      for (const [pair, fault] of faultsOf(tool)) {
        totals.set(pair, (totals.get(pair) ?? 0) + 1);
        console.log(`  ${tool.name} ${pair}: ${fault}`);
      }
    }
  }
  console.log(`${tools} tools`, Object.fromEntries(totals));
  return totals.values().reduce((sum, count) => sum + count, 0);
}

/** Returns the faults of an MCP tool by the pair of protocol and host. */
export function faultsOf(tool: JsonObject): [pair: string, fault: string][] {
  const faults: [string, string][] = [];
  for (const from of PROTOCOLS) {
    for (const host of HOSTS.filter(({ to }) => to !== from)) {
      for (const strict of [false, true]) {
        const fault = faultAt({ ...tool, strict }, from, host);
        if (fault === undefined) continue;
        const kind = strict ? "strict " : "";
        faults.push([`${kind}${from} to ${host.oracle} (${host.to})`, fault]);
      }
    }
  }
  return faults;
}

function faultAt(
  tool: JsonObject,
  from: Protocol,
  { oracle, to, service, model }: Host,
): string | undefined {
  const codec = CODECS[from];
  const { body } = translateRequest(requestWith(tool, from), {
    from: codec,
    to: CODECS[to],
    target: targetOf(service, model),
  });
  const sent = sentTool(body);
  return sent === undefined ? "it was left out" : ORACLES[oracle]?.(sent);
}

function requestWith(tool: JsonObject, from: Protocol): JsonObject {
  const { name, description = "", strict = false } = tool;
  const parameters = tool.inputSchema ?? { type: "object" };
  const messages = [{ role: "user", content: "Hi" }];
  switch (from) {
    case "chat": {
      const offered = { name, description, parameters, strict };
      const tools = [{ type: "function", function: offered }];
      return { model: "m", messages, tools };
    }
    case "messages": {
      const tools = [{ name, description, input_schema: parameters, strict }];
      return { model: "m", max_tokens: 100, messages, tools };
    }
    case "responses": {
      const offered = { name, description, parameters, strict };
      return {
        model: "m",
        input: "Hi",
        tools: [{ type: "function", ...offered }],
      };
    }
  }
}

function sentTool({ tools }: JsonObject): SentTool | undefined {
  const first = Array.isArray(tools) ? tools[0] : undefined;
  if (!isJsonObject(first)) return undefined;
  const tool = isJsonObject(first.function) ? first.function : first;
  const schema = tool.parameters ?? tool.input_schema;
  return {
    name: String(tool.name),
    schema: isJsonObject(schema) ? schema : {},
    strict: tool.strict === true,
  };
}
