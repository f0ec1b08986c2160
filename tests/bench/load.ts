/** A request to send repeatedly. */
export interface Shot {
  readonly path: string;
  readonly body: string | Blob;
  readonly headers: Readonly<Record<string, string>>;
}

/** The number of requests, and how many run at a time. */
export interface Load {
  readonly requests: number;
  readonly concurrency: number;
}

/** A program's results under a load. */
export interface Figures {
  readonly perSecond: number;
  /** The median time of a request, in milliseconds. */
  readonly medianMs: number;
}

/** Sends one request and reads its whole answer. */
export async function shoot(url: string, shot: Shot): Promise<number> {
  const { path, ...init } = shot;
  const answer = await fetch(url + path, { method: "POST", ...init });
  const { length } = await answer.bytes();
  if (answer.status !== 200) throw new Error(`Got status ${answer.status}`);
  return length;
}

/** Measures the requests per second of a program under a load, and the time of each. */
export async function run(
  url: string,
  shot: Shot,
  { requests, concurrency }: Load,
): Promise<Figures> {
  let left = requests;
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, async () => {
    while (left-- > 0) {
      const asked = performance.now();
      await shoot(url, shot);
      times.push(performance.now() - asked);
    }
  }));
  const perSecond = requests / ((performance.now() - began) / 1000);
  return { perSecond, medianMs: median(times) };
}

/** Returns the median of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const [low = NaN, high = NaN] = sorted.length % 2 === 1
    ? [sorted[middle], sorted[middle]]
    : [sorted[middle - 1], sorted[middle]];
  return (low + high) / 2;
}
