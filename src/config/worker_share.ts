import type { Caller, Config, Connection, Deployment } from "./config.ts";

/**
 * What one of several threads may take: every limit on how many requests run at once and on what their bodies take
 * of memory, divided by the number of threads and rounded up. Each thread counts its own.
 */
export function workerShare(config: Config, workers: number): Config {
  const part = (limit: number) => Math.ceil(limit / workers);
  const connections = new Map(
    config.connections.map((one) => [one, limited(one, part)]),
  );
  const own = (one: Connection) => connections.get(one) ?? limited(one, part);
  const candidate = ({ connection, model }: Deployment): Deployment => ({
    connection: own(connection),
    model,
  });
  return {
    ...config,
    server: {
      ...config.server,
      maxConcurrentRequests: part(config.server.maxConcurrentRequests),
      maxBodyMemoryBytes: part(config.server.maxBodyMemoryBytes),
    },
    connections: config.connections.map(own),
    pools: new Map(
      [...config.pools].map(([id, pool]) => [id, pool.map(candidate)]),
    ),
    callers: new Map(
      [...config.callers].map(([hash, one]) => [hash, limited(one, part)]),
    ),
  };
}

function limited<Limited extends Connection | Caller>(
  one: Limited,
  part: (limit: number) => number,
): Limited {
  const { maxConcurrent } = one;
  return maxConcurrent === undefined
    ? one
    : { ...one, maxConcurrent: part(maxConcurrent) };
}
