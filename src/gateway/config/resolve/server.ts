import { createPrivateKey, X509Certificate } from "node:crypto";
import type { AdminPlace, ServerConfig } from "../config.ts";
import { readNamedFile, type ResolveTools } from "../environment.ts";
import type { Findings } from "@gateway/base/problems";
import type { GeneralFields } from "../schema/config_file.ts";
import { renamed } from "../schema/renamed.ts";
import { serverSchema } from "../schema/server.ts";

/** Resolves the server settings: reads the certificate and checks that the two listeners do not collide. */
export async function resolveServer(
  server: GeneralFields["server"],
  options: ResolveTools,
): Promise<ServerConfig> {
  const { admin } = server;
  const exposure = exposureFault(server);
  if (exposure !== undefined) {
    options.findings.warn(["server", "host"], exposure);
  }
  if (admin !== undefined) checkAdmin(admin, server, options.findings);
  return {
    ...renamed(serverSchema, server),
    tls: await resolveTls(server.tls, options),
    attribution: server.attribution.map((name) => name.toLowerCase()),
    admin: admin && adminPlace(admin),
  };
}

type AdminFields = NonNullable<GeneralFields["server"]["admin"]>;

/** The largest port. */
export const MAX_PORT = 65_535;

function checkAdmin(
  admin: AdminFields,
  { host, port }: Pick<ServerConfig, "host" | "port">,
  findings: Findings,
): void {
  const { port_offset: offset } = admin;
  if (offset !== undefined) {
    if (port + offset <= MAX_PORT) return;
    findings.problem(
      ["server", "admin", "port_offset"],
      `must leave a port: server.port is ${port}, and the largest port is ${MAX_PORT}.`,
    );
  } else if (admin.host === host && admin.port === port && port !== 0) {
    findings.problem(
      ["server", "admin", "port"],
      "must differ from server.port.",
    );
  }
}

function adminPlace({ host, port, port_offset }: AdminFields): AdminPlace {
  return port_offset === undefined
    ? { host, port }
    : { host, portOffset: port_offset };
}

/**
 * Returns the port of the second listener.
 *
 * @param gatewayPort The port of the first listener.
 * @returns A number above 65,535 when `gatewayPort` plus the offset is no valid port.
 */
export function adminPort(place: AdminPlace, gatewayPort: number): number {
  return "port" in place ? place.port : gatewayPort + place.portOffset;
}

async function resolveTls(
  tls: GeneralFields["server"]["tls"],
  options: ResolveTools,
): Promise<ServerConfig["tls"]> {
  if (tls === undefined) return undefined;
  const read = (field: "cert" | "key") =>
    readNamedFile(tls[field], {
      ...options,
      place: ["server", "tls", field],
      form: PEM_FORMS[field],
    });
  const [cert, key] = [await read("cert"), await read("key")];
  if (cert === undefined || key === undefined) return undefined;
  if (isMismatched({ cert, key })) {
    options.findings.problem(
      ["server", "tls", "key"],
      "is not the key of the certificate.",
    );
  }
  return { cert, key };
}

const PEM_FORMS = {
  cert: [/CERTIFICATE-----/, "PEM file that holds a certificate"],
  key: [/PRIVATE KEY-----/, "PEM file that holds a private key"],
} as const;

const LOOPBACK_REGEXP =
  /^(localhost|.+\.localhost|127(\.\d+){3}|::1|\[::1\])$/i;

/** Returns true when a host name or an address belongs to the local machine. An IPv6 address may have brackets. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_REGEXP.test(host);
}

/** Returns a warning if other machines can connect without TLS; `undefined` otherwise. */
export function exposureFault(
  { host, tls }: Pick<ServerConfig, "host"> & { readonly tls?: unknown },
): string | undefined {
  if (tls !== undefined || isLoopback(host)) return undefined;
  return "lets other machines in without TLS, so that tokens can be read on the network. Set server.tls, or let only a proxy with TLS reach it.";
}

/**
 * Returns true when a private key does not match a certificate, as happens while both files are being replaced. Returns
 * false for a pair that cannot be parsed, because the listener itself reports such a pair.
 *
 * @param pair PEM texts.
 */
function isMismatched(
  { cert, key }: { readonly cert: string; readonly key: string },
): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return !certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
