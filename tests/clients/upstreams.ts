import { type Clock, systemClock } from "../../src/core/time/timers.ts";
import { randomIds } from "../../src/core/ids.ts";
import type { Family, Protocol } from "../../src/core/protocol.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";
import type { Fetch } from "../../src/upstream/call.ts";
import { connectionFile, minimalFile } from "../support/gateway/config.ts";
import {
  type RunningGateway,
  startGateway,
} from "../support/gateway/gateway.ts";
import type { ClientProgram } from "./programs.ts";

/** An upstream that speaks one protocol alone. */
export interface Upstream {
  readonly family: Family;
  /** The only path that it serves. */
  readonly path: string;
  readonly endpoint: Protocol;
}

const UPSTREAMS: readonly Upstream[] = [
  { family: "A", endpoint: "chat", path: "/v1/chat/completions" },
  { family: "B", endpoint: "messages", path: "/v1/messages" },
  { family: "C", endpoint: "responses", path: "/v1/responses" },
];

/** Those to which the gateway translates what a client speaks (docs/design.md#native-and-translated). */
export function upstreamsFor(
  { protocol }: Pick<ClientProgram, "protocol">,
): readonly Upstream[] {
  return UPSTREAMS.filter(({ endpoint }) =>
    protocol === "chat" ? endpoint !== "chat" : endpoint === "chat"
  );
}

/** The upstream for clients whose tools the other protocols spell otherwise. */
export function chatUpstream(): Upstream {
  const [chat] = UPSTREAMS;
  if (chat === undefined) throw new Error("There is no upstream");
  return chat;
}

/** A request as it reaches the upstream, and the demo's good answer to it. */
export type Spoil = (
  answer: Response,
  request: { readonly body: string },
) => Promise<Response>;

/** How an upstream is put behind a gateway. */
export interface TranslatingOptions {
  readonly model: string;
  /** What the configuration says of the model besides; default: nothing. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Gets the path of every request to a model. */
  readonly asked: string[];
  /** Outermost keys of the configuration besides the connections, such as `tokens`; default: none. */
  readonly file?: Readonly<Record<string, unknown>>;
  /** What cool-downs go by; default: that of this machine. */
  readonly clock?: Clock;
  /** Puts another answer in the place of the demo's; default: never. */
  readonly spoil?: Spoil;
}

/** A gateway in front of the demo's provider of a family, with nothing but its one endpoint. */
export function startTranslating(
  { family, endpoint }: Upstream,
  { model, fields, file, clock = systemClock, asked, spoil }:
    TranslatingOptions,
): Promise<RunningGateway> {
  const letter = family.toLowerCase();
  const demo = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const fetch: Fetch = async (url, init) => {
    // For a client's catalog the gateway asks for the provider's.
    if (init.method !== "POST") return await demo(url, init);
    asked.push(new URL(url).pathname);
    const body = await new Response(init.body).text();
    const answer = await demo(url, { ...init, body });
    return spoil === undefined ? answer : await spoil(answer, { body });
  };
  const connection = connectionFile({
    family,
    endpoints: { [endpoint]: `https://demo-${letter}.invalid/v1` },
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: `demo-key-${letter}`,
    },
    models: [{ id: model, upstream: `demo-${letter}`, ...fields }],
  });
  return startGateway(
    minimalFile({ connections: [connection], ...file }),
    { fetch, clock },
  );
}
