import type { Duplex } from "../duplex.ts";
import { ServedSocket, type ServerParts } from "./served_socket.ts";

/** A server of HTTP/1.1. A listener accepts its sockets. */
interface Http1Server {
  /** Serves the requests of a socket until it ends. */
  serve(duplex: Duplex): void;
  /** Closes the sockets that have waited for a request for `ms` milliseconds or longer, to free descriptors. */
  closeIdle(ms: number): void;
  /** Ends idle sockets at once, and busy sockets after their response. Resolves when all have ended. */
  close(): Promise<void>;
}

/**
 * Creates a server. The server is strict with requests, reads a body only as fast as the handler does, and writes a
 * response only as fast as the caller reads. When a caller leaves, the server aborts the request's signal and cancels
 * the response's body at once. `Deno.serve` of 2.8.3 to 2.9.6 does not notice a caller who leaves while a long request
 * waits for its response (https://github.com/denoland/deno/issues/34446).
 */
export function createHttp1Server(parts: ServerParts): Http1Server {
  const sockets = new Set<ServedSocket>();
  let isClosing = false;
  const ended = Promise.withResolvers<void>();

  function endIfDone(): void {
    if (isClosing && sockets.size === 0) ended.resolve();
  }

  return {
    serve(duplex) {
      const socket = new ServedSocket(duplex, parts);
      sockets.add(socket);
      if (isClosing) socket.end();
      socket.serve().finally(() => {
        sockets.delete(socket);
        endIfDone();
      });
    },
    closeIdle(ms) {
      const sinceMs = parts.deadlines.elapsedMs() - ms;
      for (const socket of sockets) socket.closeIdleSince(sinceMs);
    },
    close() {
      isClosing = true;
      for (const socket of sockets) socket.end();
      endIfDone();
      return ended.promise;
    },
  };
}
