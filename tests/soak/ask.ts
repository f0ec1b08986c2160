import { hello, PATHS } from "../support/wire/ask.ts";
import { promptOf, type Question } from "./question.ts";
import type { Scene, Way } from "./scene.ts";

/** The parameters of a request. */
export interface Asking {
  readonly way: Way;
  readonly question: Question;
  readonly isStream: boolean;
}

/** Returns the body of a request. */
export function bodyOf({ way, question, isStream }: Asking): string {
  const { protocol } = way;
  const breaks = question.behaviour === "cut" ? "-breaking" : "";
  return hello(protocol, { model: way.model + breaks, stream: isStream })
    .replace("Hello", promptOf(question));
}

/** Returns the text of a whole HTTP request. */
export function requestText(
  asking: Asking,
  { headers }: Pick<Scene, "headers">,
): string {
  const body = bodyOf(asking);
  const lines = Object.entries(headers).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  return `POST ${PATHS[asking.way.protocol]} HTTP/1.1\r\nhost: soak\r\n` +
    `${lines.join("")}content-length: ${body.length}\r\n\r\n${body}`;
}

/** Connects to the gateway. */
export function connect({ port }: Pick<Scene, "port">): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname: "127.0.0.1", port });
}

/** Waits `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
