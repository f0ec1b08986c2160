import "../../../src/gateway/process/threads/worker.ts";

const originalConnect = Deno.connect;

/** Makes a thread of the gateway die of an uncaught error when it sends a request to an upstream named `die`. */
async function connect(options: Deno.ConnectOptions): Promise<Deno.TcpConn> {
  const connection = await originalConnect(options);
  const write = connection.write.bind(connection);
  connection.write = (bytes) => {
    if (!new TextDecoder().decode(bytes).includes("/die/")) return write(bytes);
    queueMicrotask(() => {
      throw new TypeError("canary: what a request said");
    });
    // The thread dies a moment later; until then, no response may arrive.
    return new Promise(() => {});
  };
  return connection;
}

Object.defineProperty(Deno, "connect", { value: connect });
