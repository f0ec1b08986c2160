import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { GatewayError } from "../../src/base/error.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { targetOf } from "../support/dialects/targets.ts";
import { translateRequest } from "../support/translate_request.ts";
import {
  installUvx,
  listTools,
  MCP_SERVERS,
  type McpServer,
} from "./mcp_servers.ts";
import { ORACLES, type SentTool, totalsFault } from "./tool_oracles.ts";

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

/** The servers that start at once. */
const AT_ONCE = 3;

/** The longest time for all servers, in milliseconds. Those that have not started by then are left out. */
const ALL_MS = 15 * 60_000;

/** Prints the faults of each server and host, and returns their number. */
async function judgeServers(): Promise<number> {
  const totals = new Map<string, number>();
  const listed: JsonObject[] = [];
  const uvx = await installUvx();
  const end = Date.now() + ALL_MS;
  let servers = 0;
  const judge = async (server: McpServer) => {
    const tools = Date.now() < end
      ? await listTools(server, uvx)
      : "the time for all servers is over";
    if (typeof tools === "string") {
      console.log(`${server.spec}: left out, ${tools}`);
      return;
    }
    servers++;
    listed.push(...tools);
    console.log(`${server.spec}: ${tools.length} tools`);
    const faults = tools.flatMap((tool) =>
      faultsOf(tool).map(([pair, fault]) =>
        [pair, `${tool.name} ${pair}: ${fault}`] as const
      )
    );
    for (const [pair, line] of [...faults, ...faultsTogether(tools)]) {
      totals.set(pair, (totals.get(pair) ?? 0) + 1);
      console.log(`  ${line}`);
    }
  };
  const waiting = [...MCP_SERVERS];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await judge(next);
    }
  }));
  console.log(
    `${servers} of ${MCP_SERVERS.length} servers, ${listed.length} tools;`,
    `unchanged, hosts refuse ${refusedUnchanged(listed)}; translated:`,
    Object.fromEntries(totals),
  );
  return totals.values().reduce((sum, count) => sum + count, 0);
}

/** Returns the tools that a host refuses without a change by the gateway, by host. */
function refusedUnchanged(tools: readonly JsonObject[]): string {
  return Object.entries(ORACLES).map(([host, oracle]) => {
    const refused = tools.filter(({ name, inputSchema }) => {
      const schema = isJsonObject(inputSchema) ? inputSchema : {};
      return oracle({ name: String(name), schema, strict: false }) !==
        undefined;
    });
    return `${refused.length} at ${host}`;
  }).join(", ");
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

/** Returns the faults of all tools of a server together, sent in one request, by host. */
function faultsTogether(
  tools: readonly JsonObject[],
): [pair: string, line: string][] {
  const strict = tools.map((tool) => ({ ...tool, strict: true }));
  return PROTOCOLS.flatMap((from) =>
    HOSTS.filter(({ to }) => to !== from).flatMap((host) => {
      const sent = sentBy(strict, from, host);
      if (sent === undefined) {
        console.log(`  all ${from} to ${host.oracle} (${host.to}): refused`);
        return [];
      }
      const fault = totalsFault(host.oracle, sent, host.to);
      const pair = `all ${from} to ${host.oracle} (${host.to})`;
      const line: [string, string] = [pair, `${pair}: ${fault}`];
      return fault === undefined ? [] : [line];
    })
  );
}

function faultAt(
  tool: JsonObject,
  from: Protocol,
  host: Host,
): string | undefined {
  const [sent] = sentBy([tool], from, host) ?? [];
  return sent === undefined ? "it was left out" : ORACLES[host.oracle]?.(sent);
}

/**
 * Returns the tools that a host receives; `undefined` if the gateway refuses the request and names the host's limit.
 */
function sentBy(
  tools: readonly JsonObject[],
  from: Protocol,
  { to, service, model }: Host,
): SentTool[] | undefined {
  try {
    const { body } = translateRequest(requestWith(tools, from), {
      from: CODECS[from],
      to: CODECS[to],
      target: targetOf(service, model),
    });
    return Array.isArray(body.tools)
      ? body.tools.filter(isJsonObject).map(sentTool)
      : [];
  } catch (error) {
    if (error instanceof GatewayError && error.code === "too_many_tools") {
      return undefined;
    }
    throw error;
  }
}

function requestWith(
  given: readonly JsonObject[],
  from: Protocol,
): JsonObject {
  const messages = [{ role: "user", content: "Hi" }];
  const tools = given.map((tool) => offered(tool, from));
  switch (from) {
    case "chat":
      return { model: "m", messages, tools };
    case "messages":
      return { model: "m", max_tokens: 100, messages, tools };
    case "responses":
      return { model: "m", input: "Hi", tools };
  }
}

function offered(tool: JsonObject, from: Protocol): JsonObject {
  const { name, description = "", strict = false } = tool;
  const parameters = tool.inputSchema ?? { type: "object" };
  const common = { name, description, strict };
  switch (from) {
    case "chat":
      return { type: "function", function: { ...common, parameters } };
    case "messages":
      return { ...common, input_schema: parameters };
    case "responses":
      return { type: "function", ...common, parameters };
  }
}

function sentTool(first: JsonObject): SentTool {
  const tool = isJsonObject(first.function) ? first.function : first;
  const schema = tool.parameters ?? tool.input_schema;
  return {
    name: String(tool.name),
    schema: isJsonObject(schema) ? schema : {},
    strict: tool.strict === true,
  };
}

if (import.meta.main) {
  const refused = await judgeServers();
  Deno.exit(refused === 0 ? 0 : 1);
}
