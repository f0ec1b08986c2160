// Node 20 lacks functions of the language that the gateway uses, such as `Map.groupBy`.
import "npm:core-js@3.51.0/actual/index.js";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createWebHandler } from "./web_handler.ts";

/*
 * The gateway behind the server of Node: an adapter of ten lines. It prints its port, and ends with its standard input.
 */

const handler = await createWebHandler();

const server = createServer(async (incoming, outgoing) => {
  const { method = "GET", url = "/", headers } = incoming;
  const response = await handler(
    new Request(new URL(url, "http://localhost"), {
      method,
      headers: Object.entries(headers).map((
        [name, value],
      ) => [name, `${value}`]),
      ...(method === "POST" &&
        { body: Readable.toWeb(incoming), duplex: "half" }),
    }),
  );
  outgoing.writeHead(response.status, [...response.headers].flat());
  await pipeline(response.body ?? [], outgoing).catch(() => outgoing.destroy());
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(address?.port);
});
process.stdin.on("end", () => process.exit(0)).resume();
