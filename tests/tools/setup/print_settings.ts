import assert from "node:assert/strict";
import { runSetup } from "../../../src/tools/setup/command.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

export const TOKEN = "mg_secret-of-alice";

const MODELS = {
  data: [
    {
      id: "everywhere",
      display_name: "Every Where",
      protocols: ["chat", "messages", "responses"],
      context_length: 200_000,
      max_output_tokens: 32_000,
    },
    { id: "it's/chat only", protocols: ["chat"] },
    { id: "claude-x", protocols: ["messages"] },
    { id: "gpt-x", protocols: ["responses"] },
    { id: "evil\u001b[2J", protocols: ["chat", "messages", "responses"] },
  ],
};

/** A run of `setup`. */
export interface Run {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly answer?: () => Response | Promise<Response>;
}

/** The result of a run, with the requests to the gateway. */
interface Printed {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  readonly asked: readonly Request[];
}

/** Runs `setup` against a gateway that lists some models. Checks that the output has no token. */
export async function setup({ args, env, answer }: Run): Promise<Printed> {
  const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: TOKEN, ...env });
  const asked: Request[] = [];
  const code = await runSetup(args, {
    ...io,
    fetch: async (input, init) => {
      asked.push(new Request(input, init));
      return await (answer ?? (() => Response.json(MODELS)))();
    },
    deadline: () => new AbortController().signal,
  });
  const [out, error] = [io.written(), io.complained()];
  assert.ok(!(out + error).includes(TOKEN), out + error);
  return { code, out, error, asked };
}
