import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { Agent, CallerScene } from "./caller.ts";
import { ProcessEnded, type Replica } from "./replica.ts";

/** One read of `/usage`, `/limits` or `/models`, with its response. */
export interface Look {
  readonly agent: Agent;
  readonly path: "limits" | "models" | "usage";
  readonly replica: string;
  readonly startedMs: number;
  /** Undefined when the process ended before it responded. */
  readonly status: number | undefined;
  readonly body: JsonObject;
  readonly text: string;
}

/** Reads usage, quotas or models as a person does. */
export async function look(
  { agent, path, replica }: {
    readonly agent: Agent;
    readonly path: Look["path"];
    readonly replica: Replica;
  },
  { time, trace, looks }: CallerScene,
): Promise<Look> {
  const { running } = replica;
  const startedMs = time.elapsedMs();
  const [status, text] = running === undefined ? [undefined, ""] : await Promise
    .race([
      running.ended,
      running.gateway.handler(
        new Request(`http://gateway.example/v1/${path}`, {
          headers: { authorization: `Bearer ${agent.token}` },
        }),
      ).then(async (response) =>
        [response.status, await response.text()] as const
      ),
    ]).catch((cause) => {
      if (cause instanceof ProcessEnded) return [undefined, ""] as const;
      throw cause;
    });
  const body: unknown = text === "" ? {} : JSON.parse(text);
  const seen = {
    ...{ agent, path, startedMs, status, text, replica: replica.name },
    body: isJsonObject(body) ? body : {},
  };
  trace.note(`${agent.name} reads ${path} at ${replica.name} : ${status}`);
  looks?.push(seen);
  return seen;
}
