import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { Socket } from "node:net";
import { testCertificate } from "./test_certificate.ts";

/** An upstream that offers HTTP/2 and HTTP/1.1 over TLS, as the large providers do. */
export interface SecureUpstream extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The HTTP version of each request, in order. */
  readonly versions: readonly string[];
}

/** Handles a request after its body has arrived. */
export type Serve = (
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  body: string,
) => void;

/**
 * Starts an upstream with the tests' own certificate.
 *
 * @param maxConcurrentStreams The most requests that one HTTP/2 connection may have in flight.
 */
export async function startSecureUpstream(
  serve: Serve,
  maxConcurrentStreams = 100,
): Promise<SecureUpstream> {
  const versions: string[] = [];
  const sockets = new Set<Socket>();
  const server = createSecureServer({
    ...testCertificate,
    allowHTTP1: true,
    settings: { maxConcurrentStreams },
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (request, response) => {
    versions.push(request.httpVersion);
    let body = "";
    request.on("data", (piece) => body += piece);
    request.on("end", () => serve(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("The upstream has no port");
  }
  return {
    port: address.port,
    url: `https://127.0.0.1:${address.port}`,
    versions,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
