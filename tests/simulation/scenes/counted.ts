import type { Asked } from "../world/caller.ts";
import type { Setting, Stage } from "./stage.ts";

/** Totals of a token's requests, from `GET /usage` or from the log. */
export interface Counted {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly estimated_requests: number;
}

/** Returns a function for the setting in which `alice` has limits. */
export function withLimits(
  ...limits: readonly Readonly<Record<string, unknown>>[]
): () => Setting {
  return () => ({ tokens: { alice: { limits } } });
}

/** Returns the statuses of requests, sorted. */
export function statuses(asked: readonly Asked[]): number[] {
  return asked.map(({ status = 0 }) => status).sort();
}

/** Sends several requests at random moments of two seconds. */
export function crowd(
  stage: Stage,
  count: number,
  wish: Parameters<Stage["ask"]>[0],
): Promise<Asked[]> {
  return Promise.all(Array.from({ length: count }, async () => {
    await stage.sleep(stage.random.below(2000));
    return await stage.ask(wish);
  }));
}

/** Returns the totals of a token's month from `GET /usage` of one gateway. */
export async function usageOf(
  stage: Stage,
  agent: string,
  at = 0,
): Promise<Counted> {
  const response = await stage.gatewayAt(at).handler(
    new Request("http://gateway.example/v1/usage", {
      headers: { authorization: `Bearer mg_secret_of_${agent}` },
    }),
  );
  const { windows } = await response.json();
  return windows.find(({ window }: { window: string }) => window === "month")
    .total;
}

/** Returns the totals of a token's lines in the log. */
export function loggedOf(stage: Stage, agent: string): Counted {
  const lines = stage.log.entries.flatMap(({ event, fields }) =>
    event === "request" && fields.token === agent &&
      fields.connection !== undefined
      ? [fields]
      : []
  );
  const sum = (name: "input_tokens" | "output_tokens") =>
    lines.map(({ usage }) => Number(Object(usage)[name] ?? 0))
      .reduce((total, one) => total + one, 0);
  return {
    requests: lines.length,
    input_tokens: sum("input_tokens"),
    output_tokens: sum("output_tokens"),
    estimated_requests:
      lines.filter(({ usage }) => Object(usage).estimated === true).length,
  };
}
