import type { ServerConfig } from "../../config/config.ts";
import { formatProblem } from "../../config/problems.ts";
import type { Handler } from "../../http/gateway.ts";
import { tlsFault } from "../tls_fault.ts";

/** A listener that accepts requests. */
export interface Listener {
  /** Where it listens, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Stops accepting, and waits for what is running to end. */
  close(): Promise<void>;
}

/** A listener that may stop accepting by itself, as when the process has no descriptor left. */
export interface FragileListener extends Listener {
  readonly port: number;
  /** Resolves to why it stopped accepting by itself; the platform may tell that late, or never. */
  readonly lost: Promise<unknown>;
}

/** The gateway cannot listen; the message says why and what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

/** Where a listener stands, and what it is told when it cannot. */
export interface ListenPlace extends Pick<ServerConfig, "host" | "port"> {
  readonly tls?: ServerConfig["tls"];
  /** Whether other threads of this program listen there too. */
  readonly isShared?: boolean;
  /** How another host and another port are chosen. */
  readonly settings?: { readonly host: string; readonly port: string };
}

const COMMAND_LINE = { host: "--host", port: "--port" };

/**
 * Listens as the configuration says.
 *
 * @throws {ListenError} When the address is taken, not this machine's, or not allowed, or the TLS files are
 * no certificate and key.
 */
export function listen(
  place: ListenPlace,
  handler: Handler,
): FragileListener {
  const { host, port, tls, isShared = false, settings = COMMAND_LINE } = place;
  try {
    const http = Deno.serve({
      hostname: host,
      port,
      reusePort: isShared,
      ...(tls === undefined ? {} : tls),
      onListen() {
        // The ready line is printed by whoever asked for the listener.
      },
      onError: () => new Response(null, { status: 500 }),
    }, handler);
    const scheme = tls === undefined ? "http" : "https";
    return {
      url: `${scheme}://${urlHost(host)}:${http.addr.port}`,
      port: http.addr.port,
      lost: lossOf(http),
      close: () => http.shutdown(),
    };
  } catch (error) {
    throw listenError(error, { host, port, tls, settings });
  }
}

function listenError(
  cause: unknown,
  { host, port, tls, settings = COMMAND_LINE }: ListenPlace,
): ListenError {
  const reason = addressFault(cause, settings) ??
    (tls === undefined ? messageOf(cause) : formatProblem(tlsFault(cause)));
  return new ListenError(`Cannot listen on ${host}:${port}: ${reason}`, {
    cause,
  });
}

/**
 * Makes sure that nobody listens at a place that is to be shared, where a second program would go unnoticed.
 *
 * @throws {ListenError} As {@linkcode listen} does.
 */
export function requireFree(
  { host, port, settings = COMMAND_LINE }: ListenPlace,
): void {
  try {
    Deno.listen({ hostname: host, port }).close();
  } catch (error) {
    throw listenError(error, { host, port, settings });
  }
}

function lossOf({ finished }: Deno.HttpServer): Promise<unknown> {
  return new Promise((resolve) => finished.catch(resolve));
}

function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function addressFault(
  error: unknown,
  { host, port }: NonNullable<ListenPlace["settings"]>,
): string | undefined {
  if (error instanceof Deno.errors.AddrInUse) {
    return `another program listens there, stop it or choose another port with ${port}`;
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return `the address is not this machine's, choose another one with ${host}`;
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return `the system does not allow it, choose a port above 1023 with ${port}`;
  }
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
