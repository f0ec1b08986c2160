/** A request to send repeatedly. */
export interface Shot {
  readonly path: string;
  readonly body: string | Blob;
  readonly headers: Readonly<Record<string, string>>;
}

/** A program's results under a load. */
export interface Figures {
  readonly requests: number;
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

/** The time in which a run starts requests, in milliseconds: idle programs need a while to reach full speed. */
const RUN_MS = 300;

/** Measures the requests per second of a program, and the time of each, while `concurrency` of them run at a time. */
export async function run(
  url: string,
  shot: Shot,
  concurrency: number,
): Promise<Figures> {
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, async () => {
    let asked = began;
    do {
      await shoot(url, shot);
      const answered = performance.now();
      times.push(answered - asked);
      asked = answered;
    } while (asked < began + RUN_MS);
  }));
  const { length: requests } = times;
  const perSecond = requests / ((performance.now() - began) / 1000);
  return { requests, perSecond, medianMs: median(times) };
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

/** Returns the number below which a share of some numbers lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return sorted[at] ?? NaN;
}
