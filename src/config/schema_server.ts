import { z } from "zod";
import {
  byteSize,
  concurrency,
  milliseconds,
  text,
  wholeNumber,
} from "./schema_fields.ts";

function host(): z.ZodType<string> {
  return z.string().regex(/^[A-Za-z0-9.:%_-]+$/, {
    error: "must be a host name or an address, such as 127.0.0.1",
  });
}

const port = wholeNumber({ min: 0, max: 65_535 });

/** `server`. */
export const serverSchema = z.strictObject({
  host: host().default("127.0.0.1"),
  /** 0 takes a free port. */
  port: port.default(8787),
  /** Paths of PEM files, relative to the configuration file. */
  tls: z.strictObject({ cert: text(), key: text() }).optional(),
  /** Threads that share the port. */
  workers: z.union([z.literal("auto"), wholeNumber({ min: 1, max: 256 })], {
    error: "must be a whole number from 1 to 256, or auto",
  }).default(1),
  max_concurrent_requests: concurrency().default(1024),
  /** What bodies may take of memory together; the least holds the longest body of any path twice. */
  max_body_memory: byteSize({ leastMib: 64 }).default(1024 ** 3),
  drain_seconds: wholeNumber({ min: 0, max: 3600 }).default(30),
  /** A second listener, for metrics. */
  admin: z.strictObject({
    host: host().default("127.0.0.1"),
    port: port.default(9090),
  }).optional(),
});

/** `timeouts` of one connection: what is absent is as for all connections. */
export const connectionTimeoutsSchema = z.strictObject({
  connect: milliseconds().optional(),
  first_byte: milliseconds().optional(),
  first_output: milliseconds().optional(),
  idle: milliseconds().optional(),
  body: milliseconds().optional(),
});

/** `timeouts` of all connections. */
export const timeoutsSchema = z.strictObject({
  connect: milliseconds().default(10_000),
  first_byte: milliseconds().default(300_000),
  first_output: milliseconds().default(0),
  idle: milliseconds().default(120_000),
  body: milliseconds().default(60_000),
});

/** `limits`; the upper ends are what callers may rely on (docs/design.md#quotas). */
export const limitsSchema = z.strictObject({
  /** Milliseconds for the whole answer of GET /limits. */
  budget: wholeNumber({ min: 1, max: 12_000 }).default(12_000),
  cache_seconds: wholeNumber({ min: 0, max: 60 }).default(60),
});
