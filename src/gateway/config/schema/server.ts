import { z } from "zod";
import { mapValues } from "@gateway/base/std";
import {
  byteSize,
  concurrency,
  milliseconds,
  text,
  wholeNumber,
} from "./fields.ts";

function host(): z.ZodType<string> {
  return z.string().refine((value) => !/^([^:]*|\[.*\]):\d+$/.test(value), {
    error: "must have no port. Write the port under `port`, such as 8787.",
    abort: true,
  }).regex(/^[A-Za-z0-9.:%_-]+$/, {
    error: "must be a host name or an address, such as 127.0.0.1.",
  });
}

/**
 * The name of a header that callers define themselves. Other headers may hold a secret, or have a meaning for a
 * provider.
 */
function attributionHeader(): z.ZodType<string> {
  return z.string().regex(
    /^x-(?!.*(?:key|token|auth|secret|cookie|password|signature))[a-z0-9-]{1,62}$/i,
    {
      error:
        "must be a header that begins with x- and holds no credential, such as x-project.",
    },
  );
}

/** An IP address, or a network as CIDR. */
function network(): z.ZodType<string> {
  return z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
    error: "must be an IP address or a network, such as 10.0.0.0/8.",
  });
}

const port = wholeNumber({ min: 0, max: 65_535 });

const SECONDS = "a whole number of seconds, such as 30";

/** The end of the descriptions of `cert` and `key`. */
const PEM_FILE = "path of a PEM file, relative to this file";

/** The least memory for bodies, in MiB: twice the longest request body that any path accepts. */
const LEAST_BODY_MEMORY_MIB = 64;

/** `server`. */
export const serverSchema = z.strictObject({
  host: host().default("127.0.0.1")
    .describe("The address to listen on. 0.0.0.0 is every IPv4 address."),
  port: port.default(8787).describe(
    "The port to listen on. 0 takes a free port.",
  ),
  tls: z.strictObject({
    cert: text().describe(`The certificate with its chain: ${PEM_FILE}.`),
    key: text().describe(`The private key: ${PEM_FILE}.`),
  }).optional().describe(
    "Serves HTTPS with this certificate. Without it, the gateway serves HTTP.",
  ),
  workers: z.union([z.literal("auto"), wholeNumber({ min: 1, max: 256 })], {
    error: "must be a whole number from 1 to 256, or auto.",
  }).default(1).describe(
    "The number of threads that share the port. auto is one per core.",
  ),
  max_concurrent_requests: concurrency().default(1024)
    .describe(
      "The number of requests that may run at once. Further ones get a 503.",
    ),
  max_body_memory: byteSize({ leastMib: LEAST_BODY_MEMORY_MIB })
    .prefault(1024 ** 3).describe(
      "The memory for all callers' bodies together, in bytes or as a size such as 512MiB. Further requests get a 503.",
    ),
  drain_seconds: wholeNumber({ min: 0, max: 3600 }, SECONDS).default(30)
    .describe(
      "The seconds that running requests may still take after SIGTERM.",
    ),
  attribution: z.array(attributionHeader()).max(4, {
    error: "must list at most 4 headers.",
  }).default([]).describe(
    "The request headers whose values become columns of the log, such as x-project. They are not sent to providers.",
  ),
  trusted_proxies: z.array(network()).default([]).describe(
    "The addresses or networks of proxies whose X-Forwarded-For names the caller, such as 10.0.0.0/8. Default: none, so that the caller's address is that of the socket.",
  ),
  removed_tokens: z.enum(["finish", "end"]).default("finish").describe(
    "What happens to the running requests of a token that leaves the configuration: they finish, or they end at once.",
  ),
  admin: z.strictObject({
    host: host().default("127.0.0.1").describe(
      "The address of the second listener.",
    ),
    port: port.default(9090).describe("The port of the second listener."),
    port_offset: wholeNumber({ min: 1, max: 65_535 }).optional().describe(
      "Replaces port: the second listener's port is the gateway's port plus this number. Replicas on one host can then share this file.",
    ),
  }).optional().describe(
    "A second listener, for metrics. It needs no credential.",
  ),
});

/** `timeouts` of all connections. */
export const timeoutsSchema = z.strictObject({
  connect: milliseconds().prefault(10_000).describe(
    "Milliseconds to connect to the provider. 0 is no deadline.",
  ),
  first_byte: milliseconds().prefault(300_000).describe(
    "Milliseconds until the provider's response headers. 0 is no deadline.",
  ),
  first_output: milliseconds().prefault(0).describe(
    "Milliseconds until the first real output of a stream. 0 is no deadline.",
  ),
  idle: milliseconds().prefault(300_000).describe(
    "Milliseconds of silence within the provider's response. 0 is no deadline.",
  ),
  body: milliseconds().prefault(300_000).describe(
    "Milliseconds for the caller's body to arrive. 0 is no deadline.",
  ),
});

/** `timeouts` of one connection. A missing value is taken from the timeouts of all connections. */
export const connectionTimeoutsSchema = z.strictObject({
  ...mapValues(
    timeoutsSchema.shape,
    (deadline) =>
      z.exactOptional(deadline.unwrap()).describe(deadline.description ?? ""),
  ),
  body: z.exactOptional(milliseconds())
    .describe("Has no effect here. Set timeouts.body for all connections."),
});

/** `limits`. Callers may rely on the maxima (docs/design.md#quotas). */
export const limitsSchema = z.strictObject({
  budget: milliseconds({ min: 1, max: 12_000 }).prefault(12_000)
    .describe("Milliseconds for the whole response of GET /limits."),
  cache_seconds: wholeNumber({ min: 0, max: 60 }, SECONDS).default(60)
    .describe("The seconds for which a quota is cached."),
});
