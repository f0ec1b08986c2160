import { z } from "zod";
import {
  byteSize,
  concurrency,
  milliseconds,
  text,
  wholeNumber,
} from "./fields.ts";

function host(): z.ZodType<string> {
  return z.string().regex(/^[A-Za-z0-9.:%_-]+$/, {
    error: "must be a host name or an address, such as 127.0.0.1",
  });
}

const port = wholeNumber({ min: 0, max: 65_535 });

/** Both places name files alike. */
const PEM_FILE = "path of a PEM file, relative to this file";

/** The least holds the longest body of any path twice. */
const LEAST_BODY_MEMORY_MIB = 64;

/** `server`. */
export const serverSchema = z.strictObject({
  host: host().default("127.0.0.1")
    .describe("The address to listen on; 0.0.0.0 is every address of IPv4."),
  port: port.default(8787).describe(
    "The port to listen on; 0 takes a free port.",
  ),
  tls: z.strictObject({
    cert: text().describe(`The certificate with its chain: ${PEM_FILE}.`),
    key: text().describe(`The private key: ${PEM_FILE}.`),
  }).optional().describe(
    "Serve HTTPS with this certificate; without it, HTTP.",
  ),
  workers: z.union([z.literal("auto"), wholeNumber({ min: 1, max: 256 })], {
    error: "must be a whole number from 1 to 256, or auto",
  }).default(1).describe("Threads that share the port; auto is one a core."),
  max_concurrent_requests: concurrency().default(1024)
    .describe("How many requests may run at once; above: 503."),
  max_body_memory: byteSize({ leastMib: LEAST_BODY_MEMORY_MIB })
    .default(1024 ** 3).describe(
      "What callers' bodies may take of memory together, as bytes or as a size such as 512MiB; above: 503.",
    ),
  drain_seconds: wholeNumber({ min: 0, max: 3600 }).default(30)
    .describe("How long running requests may take after SIGTERM."),
  admin: z.strictObject({
    host: host().default("127.0.0.1").describe("The address of that listener."),
    port: port.default(9090).describe("Its port."),
  }).optional().describe(
    "A second listener, for metrics; it asks for no credential.",
  ),
});

const DEADLINES = {
  connect:
    "Milliseconds until there is a connection to the provider; 0 is no deadline.",
  first_byte:
    "Milliseconds until the provider's response headers; 0 is no deadline.",
  first_output:
    "Milliseconds until the first real output of a stream; 0 is no deadline.",
  idle:
    "Milliseconds of silence within the provider's answer; 0 is no deadline.",
  body: "Milliseconds for the caller's body to arrive; 0 is no deadline.",
} as const;

/** `timeouts` of one connection: what is absent is as for all connections. */
export const connectionTimeoutsSchema = z.strictObject({
  connect: milliseconds().optional().describe(DEADLINES.connect),
  first_byte: milliseconds().optional().describe(DEADLINES.first_byte),
  first_output: milliseconds().optional().describe(DEADLINES.first_output),
  idle: milliseconds().optional().describe(DEADLINES.idle),
  body: milliseconds().optional()
    .describe("Has no effect here: set timeouts.body for all."),
});

/** `timeouts` of all connections. */
export const timeoutsSchema = z.strictObject({
  connect: milliseconds().default(10_000).describe(DEADLINES.connect),
  first_byte: milliseconds().default(300_000).describe(DEADLINES.first_byte),
  first_output: milliseconds().default(0).describe(DEADLINES.first_output),
  idle: milliseconds().default(120_000).describe(DEADLINES.idle),
  body: milliseconds().default(60_000).describe(DEADLINES.body),
});

/** `limits`; the upper ends are what callers may rely on (docs/design.md#quotas). */
export const limitsSchema = z.strictObject({
  budget: wholeNumber({ min: 1, max: 12_000 }).default(12_000)
    .describe("Milliseconds for the whole answer of GET /limits."),
  cache_seconds: wholeNumber({ min: 0, max: 60 }).default(60)
    .describe("How long a quota that was read is kept, in seconds."),
});
