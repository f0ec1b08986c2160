import { bytesOf } from "../../../src/base/streams/bytes.ts";
import type { Verdict } from "./odd_responses.ts";

/**
 * Reads responses with Node's own parser, as its client does. Each line of the input is a response in hexadecimal
 * digits. Each line of the output is the status and the body, or `null` for a refused or incomplete response.
 */
const PROGRAM = `
const { HTTPParser } = require("node:_http_common");
const lines = require("node:fs").readFileSync(0, "utf8").trim().split("\\n");
function read(bytes) {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {}, 64 * 1024, 0);
  let status = 0;
  let isOver = false;
  const body = [];
  parser[HTTPParser.kOnHeaders | 0] = () => {};
  parser[HTTPParser.kOnHeadersComplete | 0] = (...all) => {
    if (isOver) return 0;
    status = all[5];
    return status < 200 ? 1 : 0;
  };
  parser[HTTPParser.kOnBody | 0] = (piece) => {
    if (!isOver) body.push(Buffer.from(piece));
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    if (status >= 200) isOver = true;
  };
  let failed = parser.execute(bytes) instanceof Error;
  if (!failed && !isOver) failed = parser.finish() instanceof Error;
  return isOver ? [status, Buffer.concat(body).toString("hex")] : null;
}
for (const line of lines) {
  console.log(JSON.stringify(read(Buffer.from(line, "hex"))));
}
`;

/** The verdict of llhttp on a response; `undefined` when it refuses it, or waits for more. */
export type ReferenceVerdict = Exclude<Verdict, string> | undefined;

/** Returns the versions of Node and llhttp; `undefined` when this machine has no Node whose parser can be used. */
export async function findNode(): Promise<string | undefined> {
  try {
    const { success, stdout } = await node(
      `require("node:_http_common").HTTPParser.RESPONSE;
      console.log(process.version, process.versions.llhttp);`,
      "",
    );
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the verdicts of llhttp on responses, which have one character for each byte and end with their connections.
 */
export async function readByLlhttp(
  responses: readonly string[],
): Promise<readonly ReferenceVerdict[]> {
  const input = responses.map((text) => hex(text)).join("\n");
  const { success, stdout, stderr } = await node(PROGRAM, input);
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  return lines.map((line) => {
    const read: [number, string] | null = JSON.parse(line);
    return read === null
      ? undefined
      : { status: read[0], body: fromHex(read[1]) };
  });
}

async function node(
  program: string,
  input: string,
): Promise<Deno.CommandOutput> {
  const child = new Deno.Command("node", {
    args: ["--no-warnings", "-e", program],
    env: { NODE_OPTIONS: "" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(`${input}\n`))
    .then(() => writer.close());
  const [output] = await Promise.all([child.output(), written]);
  return output;
}

function hex(text: string): string {
  return new Uint8Array(bytesOf(text)).toHex();
}

function fromHex(digits: string): string {
  return String.fromCharCode(...Uint8Array.fromHex(digits));
}
