import type { Origin } from "../client/client.ts";
import { BlockList, isIP } from "node:net";

/** The route to an origin. */
export type ProxyRoute =
  | { readonly kind: "direct" }
  | { readonly kind: "proxy"; readonly proxy: HttpProxy }
  | { readonly kind: "socks"; readonly proxy: SocksProxy }
  /** The gateway does not support the proxy's address. Requests fail rather than go around the proxy. */
  | { readonly kind: "invalid" };

/** A proxy that speaks HTTP. `isSecure` is true if the gateway speaks TLS to the proxy. */
interface HttpProxy extends Origin {
  /** The credentials for the proxy, if the proxy's address has some. */
  readonly headers: readonly (readonly [string, string])[];
}

/** A proxy that speaks SOCKS5. */
export interface SocksProxy extends Pick<Origin, "hostname" | "port"> {
  /** User name and password, at most 255 bytes each; absent if the address has none. */
  readonly credentials?: readonly [user: Uint8Array, password: Uint8Array];
}

const DIRECT: ProxyRoute = { kind: "direct" };
const INVALID: ProxyRoute = { kind: "invalid" };

/** The schemes of proxies, with their ports. SOCKS proxies always resolve the names of providers themselves. */
const PROXY_PORTS: ReadonlyMap<string, number> = new Map([
  ["http:", 80],
  ["https:", 443],
  ["socks5:", 1080],
  ["socks5h:", 1080],
]);

/**
 * Reads the proxies of the environment: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower
 * case.
 *
 * @returns A function that finds the route to an origin.
 */
export function readProxies(
  env: (name: string) => string | undefined,
): (origin: Origin) => ProxyRoute {
  const read = (name: string) => env(name) || env(name.toLowerCase()) || "";
  const all = read("ALL_PROXY");
  const plain = routeThrough(read("HTTP_PROXY") || all);
  const secure = routeThrough(read("HTTPS_PROXY") || all);
  const isExcluded = readExclusions(read("NO_PROXY"));
  return (origin) => {
    const route = origin.isSecure ? secure : plain;
    return route.kind === "direct" || isExcluded(origin) ? DIRECT : route;
  };
}

function routeThrough(address: string): ProxyRoute {
  if (address === "") return DIRECT;
  const text = address.includes("://") ? address : `http://${address}`;
  if (!URL.canParse(text)) return INVALID;
  const { protocol, hostname, port, username, password } = new URL(text);
  const standardPort = PROXY_PORTS.get(protocol);
  if (standardPort === undefined || hostname === "") return INVALID;
  const place = {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? standardPort : Number(port),
  };
  const [user, secret] = [decode(username), decode(password)];
  const hasCredentials = user !== "" || secret !== "";
  if (!protocol.startsWith("socks")) {
    const headers = hasCredentials
      ? [["proxy-authorization", `Basic ${btoa(`${user}:${secret}`)}`] as const]
      : [];
    const isSecure = protocol === "https:";
    return { kind: "proxy", proxy: { ...place, isSecure, headers } };
  }
  if (!hasCredentials) return { kind: "socks", proxy: place };
  if (Math.max(user.length, secret.length) > 255) return INVALID;
  const credentials = [latin1(user), latin1(secret)] as const;
  return { kind: "socks", proxy: { ...place, credentials } };
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Decodes the percent-encoded bytes of a URL, one character for each byte. Other percent signs stay. */
function decode(text: string): string {
  return text.replace(
    /%([0-9a-f]{2})/gi,
    (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/**
 * Reads `NO_PROXY`: a list of host names with their subdomains, IP addresses and networks (`10.0.0.0/8`), each with an
 * optional port; `*` means all.
 */
function readExclusions(list: string): (origin: Origin) => boolean {
  const entries = list.split(",").map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "");
  const networks = new BlockList();
  for (const entry of entries) {
    const [address = "", bits, rest] = entry.split("/");
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const prefix = bits ?? String(most);
    if (family === 0 || rest !== undefined || !/^[0-9]{1,3}$/.test(prefix)) {
      continue;
    }
    if (Number(prefix) > most) continue;
    networks.addSubnet(address, Number(prefix), family === 6 ? "ipv6" : "ipv4");
  }
  return ({ hostname, port }) => {
    const host = hostname.toLowerCase().replace(/\.$/, "");
    const family = isIP(host);
    if (family > 0 && networks.check(host, family === 6 ? "ipv6" : "ipv4")) {
      return true;
    }
    return entries.some((entry) => matches(entry, { host, family, port }));
  };
}

function matches(
  entry: string,
  { host, family, port }: {
    readonly host: string;
    readonly family: number;
    readonly port: number;
  },
): boolean {
  if (entry === "*") return true;
  const found =
    /^(\[[0-9a-f:.]+\]|[^:]*|[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*)(?::([0-9]+))?$/
      .exec(entry);
  if (found === null) return false;
  const name = plainName(found[1] ?? "");
  if (found[2] !== undefined && Number(found[2]) !== port) return false;
  if (name === "") return false;
  return host === name || (family === 0 && host.endsWith(`.${name}`));
}

/** Returns a name without brackets, wildcard and the dots at its ends. */
function plainName(written: string): string {
  const bracketed = `http://${written}`;
  return written.startsWith("[") && URL.canParse(bracketed)
    ? new URL(bracketed).hostname.slice(1, -1)
    : written.replace(/^\*?\./, "").replace(/\.$/, "");
}
