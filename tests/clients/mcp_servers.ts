import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { cacheFolder, exists } from "./install.ts";

/** A server of the Model Context Protocol that lists its tools without a credential. */
export interface McpServer {
  readonly registry: "npm" | "pypi";
  /** The package, as `npx` or `uvx` take it. */
  readonly spec: string;
  /** The program of a package from PyPI, when it has another name. */
  readonly program?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

type Row = readonly [
  spec: string,
  args?: readonly string[],
  env?: Readonly<Record<string, string>>,
];

const NPM: readonly Row[] = [
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
  ["@zereight/mcp-gitlab@latest", [], {
    GITLAB_PERSONAL_ACCESS_TOKEN: "x",
  }],
  ["mongodb-mcp-server@latest"],
  ["figma-developer-mcp@latest", ["--stdio", "--figma-api-key=x"]],
  ["n8n-mcp@latest", [], { MCP_MODE: "stdio", DISABLE_CONSOLE_OUTPUT: "true" }],
  ["@mobilenext/mobile-mcp@latest"],
];

const PYPI: readonly Row[] = [
  ["mcp-server-fetch"],
  ["mcp-server-git"],
  ["mcp-server-time"],
  ["mcp-server-sqlite", ["--db-path", "/tmp/model-gateway-mcp.sqlite"]],
  ["mcp-server-calculator"],
  ["mcp-text-editor"],
  ["duckduckgo-mcp-server"],
  ["wikipedia-mcp"],
  ["excel-mcp-server", ["stdio"]],
  ["office-word-mcp-server"],
  ["mcp-atlassian", [], {
    JIRA_URL: "https://jira.example.com",
    JIRA_USERNAME: "x",
    JIRA_API_TOKEN: "x",
  }],
  ["redis-mcp-server"],
  ["arxiv-mcp-server"],
];

/** The programs whose names are not those of their packages. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "office-word-mcp-server": "word_mcp_server",
};

/** All servers, of both registries. */
export const MCP_SERVERS: readonly McpServer[] = [
  ...NPM.map((row) => serverOf("npm", row)),
  ...PYPI.map((row) => serverOf("pypi", row)),
];

function serverOf(
  registry: McpServer["registry"],
  [spec, args = [], env = {}]: Row,
): McpServer {
  return { registry, spec, program: PROGRAMS[spec] ?? spec, args, env };
}

/** The longest time in which a server is downloaded, starts and lists its tools, in milliseconds. */
const SERVER_MS = 100_000;

/** Returns the path of `uvx`, installed into a folder for temporary files, or the reason why there is none. */
export async function installUvx(): Promise<
  { readonly path: string } | { readonly reason: string }
> {
  const folder = `${cacheFolder()}/uv`;
  const path = `${folder}/bin/uvx`;
  if (await exists(path)) return { path };
  try {
    for (
      const [program, ...args] of [
        ["python3", "-m", "venv", folder],
        [`${folder}/bin/python`, "-m", "pip", "install", "--quiet", "uv"],
      ]
    ) {
      await new Deno.Command(program ?? "", {
        args,
        stdin: "null",
        stderr: "null",
        signal: AbortSignal.timeout(SERVER_MS),
      }).output();
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { reason: "python3 is not installed here" };
  }
  return await exists(path)
    ? { path }
    : { reason: "uv cannot be installed from PyPI here" };
}

/**
 * Returns the tools that a server lists over its standard streams, or the reason why there are none. It ends the
 * server and every program that the server started.
 */
export async function listTools(
  { registry, spec, program = spec, args = [], env = {} }: McpServer,
  uvx: Awaited<ReturnType<typeof installUvx>>,
): Promise<readonly JsonObject[] | string> {
  if (registry === "pypi" && "reason" in uvx) return uvx.reason;
  const launcher = registry === "npm"
    ? ["npx", "-y", spec]
    : ["path" in uvx ? uvx.path : "uvx", "--quiet", "--from", spec, program];
  const [command = "", ...before] = launcher;
  const child = new Deno.Command(command, {
    args: [...before, ...args],
    env: { ...env },
    cwd: "/tmp",
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    // The child leads a group of its own, which ends as a whole.
    detached: true,
  }).spawn();
  const writer = child.stdin.getWriter();
  const send = (message: JsonObject) =>
    writer.write(
      new TextEncoder().encode(
        `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`,
      ),
    );
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, SERVER_MS);
  const reason = (other: string) =>
    isLate ? `it listed no tools within ${SERVER_MS / 1000} s` : other;
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
    return reason("it ended before it listed its tools");
  } catch (error) {
    return reason(String(error).slice(0, 200));
  } finally {
    clearTimeout(timer);
    endGroup(child.pid);
    await writer.close().catch(() => {});
    await child.status;
  }
}

/** Ends a child and all programs of its group. */
function endGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch { /* They have ended. */ }
}

function parsed(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
