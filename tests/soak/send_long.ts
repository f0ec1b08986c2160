import { PATHS } from "../support/wire/ask.ts";
import type { Scene } from "./scene.ts";
import type { Sending, Sent } from "./sender.ts";

/** Sends bodies of a shape to the Messages path, from a separate thread. */
export async function sendLong(
  sending: Omit<Sending, "url" | "headers">,
  { gateway, headers }: Scene,
): Promise<Sent> {
  const sender = new Worker(new URL("./sender.ts", import.meta.url), {
    type: "module",
  });
  const { port1: port, port2: remote } = new MessageChannel();
  const sent = new Promise<Sent>((resolve) => {
    port.onmessage = ({ data }) => resolve(data);
  });
  const url = gateway.url + PATHS.messages;
  sender.postMessage({ ...sending, url, headers }, [remote]);
  try {
    return await sent;
  } finally {
    port.close();
    sender.terminate();
  }
}

/** Formats statuses with their counts, such as `200: 34, 503: 66`. */
export function statusText({ statuses }: Sent): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`).join(", ");
}
