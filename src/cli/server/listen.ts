import type { ServerConfig } from "../../config/config.ts";
import { formatProblem, type Problem } from "../../config/problems.ts";
import { backoffMs } from "../../core/time/backoff.ts";
import type { Timers } from "../../core/time/timers.ts";
import type { Handler } from "../../http/gateway.ts";
import type { Log } from "../../observe/log.ts";

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
interface ListenPlace extends Pick<ServerConfig, "host" | "port"> {
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

/** A listener that lasts until it is closed. */
export interface LastingListener extends Listener {
  /**
   * Listens again, as with another certificate. What is running goes on; new connections are accepted without a
   * pause where the platform lets two listeners share a port, and else after a short one.
   */
  renew(): void;
}

/** What {@linkcode keepListening} works with. */
interface KeepListeningOptions {
  /** Listens at the same place again; default of the port: a free one. */
  readonly open: (port?: number) => FragileListener;
  readonly log: Log;
  readonly timers: Timers;
}

/** The pauses before listening again. */
const PAUSES = { firstMs: 100, mostMs: 2_000 };

/** What listened for so long was well: the next pause is short again. */
const HEALTHY_MS = 10_000;

/**
 * Listens, and listens again where the platform gives up: when the process has no descriptor left for one more
 * connection, `Deno.serve` accepts none any more, not even when there are descriptors again. What it has
 * accepted goes on. Deno 2.9 tells at once that it gave up, Deno 2.7 only when its connections have ended.
 *
 * @throws {ListenError} As `open` does, the first time.
 */
export function keepListening(
  { open, log, timers }: KeepListeningOptions,
): LastingListener {
  const first = open();
  const { url, port } = first;
  let serving: FragileListener | undefined;
  let isClosed = false;
  let openedMs = timers.elapsedMs();
  let failures = 0;
  let stopTimer = () => {};

  const retired = new Set<Promise<void>>();

  function watch(listener: FragileListener): void {
    serving = listener;
    listener.lost.then((reason) => {
      if (serving === listener) onLost(reason);
    });
  }

  /** Accepts no more; what it has accepted ends in its own time. */
  function retire(listener: FragileListener): void {
    const closed = listener.close().finally(() => retired.delete(closed));
    retired.add(closed);
  }

  function renew(): void {
    const old = serving;
    // Where there is none, the next try opens it as it is to be.
    if (old === undefined || isClosed) return;
    try {
      watch(open(port));
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      if (!(error.cause instanceof Deno.errors.AddrInUse)) {
        return log.write("listener_kept", { reason: error.message });
      }
      serving = undefined;
      retire(old);
      return retry();
    }
    retire(old);
    log.write("listener_renewed", {});
  }

  function onLost(reason: unknown): void {
    serving = undefined;
    if (isClosed) return;
    log.write("listener_lost", {
      reason: reason instanceof Error ? reason.message : "unknown",
    });
    if (timers.elapsedMs() - openedMs >= HEALTHY_MS) failures = 0;
    retry();
  }

  function retry(): void {
    failures += 1;
    stopTimer = timers.schedule(backoffMs(failures, PAUSES), reopen);
  }

  function reopen(): void {
    try {
      watch(open(port));
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      return retry();
    }
    openedMs = timers.elapsedMs();
    log.write("listening_again", {});
  }

  watch(first);
  return {
    url,
    async close() {
      isClosed = true;
      stopTimer();
      await Promise.all([serving?.close(), ...retired]);
    },
    renew,
  };
}

/** What the platform says of a pair, and what that means; the first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: Problem])[] = [
  [/mismatch/i, {
    path: "server.tls.key",
    message: "is not the key of the certificate",
  }],
  [/key/i, {
    path: "server.tls.key",
    message:
      "holds no private key that can be used: it must be RSA, ECDSA or Ed25519, in PEM, without a password",
  }],
  [/cert/i, {
    path: "server.tls.cert",
    message: "holds no certificate that can be read: it must be X.509 in PEM",
  }],
];

const UNKNOWN: Problem = {
  path: "server.tls",
  message: "is no certificate and key that can be listened with",
};

/** What is wrong with a certificate and key that the platform does not listen with, in words of our own. */
export function tlsFault(error: unknown): Problem {
  const message = error instanceof Error ? error.message : "";
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1] ?? UNKNOWN;
}

/**
 * Tries to listen with a certificate and key, at a free port of this machine that is given up at once.
 *
 * @returns What is wrong with them, if anything is.
 */
export function tryTls(tls: ServerConfig["tls"]): Problem | undefined {
  if (tls === undefined) return undefined;
  try {
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls }).close();
    return undefined;
  } catch (error) {
    return tlsFault(error);
  }
}
