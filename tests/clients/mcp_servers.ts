import { isJsonObject, type JsonObject } from "../../src/base/json.ts";

/** Servers of the Model Context Protocol that list their tools without a credential. */
export const MCP_SERVERS: readonly (readonly [
  spec: string,
  args?: readonly string[],
  env?: Readonly<Record<string, string>>,
])[] = [
  ["@modelcontextprotocol/server-everything@latest"],
  ["@modelcontextprotocol/server-filesystem@latest", ["/tmp"]],
  ["@modelcontextprotocol/server-memory@latest"],
  ["@modelcontextprotocol/server-sequential-thinking@latest"],
  ["@modelcontextprotocol/server-github@latest"],
  ["@modelcontextprotocol/server-puppeteer@latest"],
  ["@modelcontextprotocol/server-slack@latest", [], {
    SLACK_BOT_TOKEN: "x",
    SLACK_TEAM_ID: "x",
  }],
  ["@playwright/mcp@latest"],
  ["chrome-devtools-mcp@latest"],
  ["@upstash/context7-mcp@latest"],
  ["@dokploy/mcp@latest", [], {
    DOKPLOY_URL: "http://127.0.0.1:9",
    DOKPLOY_API_KEY: "x",
  }],
  ["@21st-dev/magic@latest", [], { API_KEY: "x" }],
  ["exa-mcp-server@latest", [], { EXA_API_KEY: "x" }],
  ["tavily-mcp@latest", [], { TAVILY_API_KEY: "x" }],
  ["@notionhq/notion-mcp-server@latest", [], { NOTION_TOKEN: "x" }],
  ["@supabase/mcp-server-supabase@latest", [], { SUPABASE_ACCESS_TOKEN: "x" }],
  ["firecrawl-mcp@latest", [], { FIRECRAWL_API_KEY: "x" }],
  ["mcp-server-kubernetes@latest"],
  ["@sentry/mcp-server@latest", ["--access-token=x"]],
  ["@brave/brave-search-mcp-server@latest", [], { BRAVE_API_KEY: "x" }],
];

/** The longest time in which a server is downloaded, starts and lists its tools, in milliseconds. */
const SERVER_MS = 150_000;

/** Returns the tools that a server lists over its standard streams, or the reason why there are none. */
export async function listTools(
  [spec, args = [], env = {}]: typeof MCP_SERVERS[number],
): Promise<readonly JsonObject[] | string> {
  const child = new Deno.Command("npx", {
    args: ["-y", spec, ...args],
    env,
    cwd: "/tmp",
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const send = (message: JsonObject) =>
    writer.write(
      new TextEncoder().encode(
        `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`,
      ),
    );
  const timer = setTimeout(() => child.kill("SIGKILL"), SERVER_MS);
  try {
    await send({
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "model-gateway", version: "0" },
      },
    });
    const lines = child.stdout.pipeThrough(new TextDecoderStream());
    let text = "";
    for await (const chunk of lines) {
      text += chunk;
      const parts = text.split("\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const message = parsed(part);
        if (message?.id === 1) {
          await send({ method: "notifications/initialized" });
          await send({ id: 2, method: "tools/list", params: {} });
        }
        if (message?.id !== 2) continue;
        const { result } = message;
        const tools = isJsonObject(result) ? result.tools : undefined;
        return Array.isArray(tools)
          ? tools.filter(isJsonObject)
          : JSON.stringify(message).slice(0, 200);
      }
    }
    return "it ended before it listed its tools";
  } catch (error) {
    return String(error).slice(0, 200);
  } finally {
    clearTimeout(timer);
    await writer.close().catch(() => {});
    try {
      child.kill("SIGTERM");
    } catch { /* It has ended. */ }
    await child.status;
  }
}

function parsed(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
