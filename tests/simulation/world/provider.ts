import type { Dial } from "../../../src/http1/client/client.ts";
import { Buffer } from "node:buffer";
import {
  isJsonObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { Random } from "../../support/fakes/random.ts";
import {
  ERROR_EVENTS,
  errorBody,
  PING,
  planAnswer,
  type PlannedAnswer,
  WRITERS,
} from "./answers.ts";
import type { SimulatedQuota } from "./quota.ts";
import { SimulatedSocket } from "./socket.ts";
import type { VirtualTime } from "./time.ts";
import type { Trace } from "./trace.ts";

/** One request that a provider received, with its response. */
export interface LedgerEntry {
  /** The number of the caller's request, which its prompt carries. */
  readonly request: number;
  readonly provider: string;
  readonly key: string | undefined;
  readonly protocol: Protocol;
  /** Its method, path and headers. */
  readonly head: string;
  readonly body: JsonObject;
  readonly receivedMs: number;
  /** Absent for errors. */
  answer: PlannedAnswer | undefined;
  status: number | undefined;
  /** The `Retry-After` of a refusal, in seconds. */
  retryAfter?: number;
  /** The unknown field for which the provider refused the request. */
  refused?: string;
  /** True when a 429 means that this request alone exceeds the rate limit. */
  isOversized?: boolean;
  /** The tokens that the provider charged for it. */
  charged?: number;
  /** The payload that the provider sent. */
  payload: string;
  /** True once the provider has sent the whole answer. */
  isWhole: boolean;
  /** Undefined until the exchange ends. */
  endedMs: number | undefined;
}

/** The fates of a request. A mood gives each its weight. */
const FATES = [
  "answer",
  "slow answer",
  "overloaded",
  "server error",
  "rate limit",
  "long rate limit",
  "unauthorized",
  "bad request",
  "oversized request",
  "reset before",
  "close before",
  "silence",
  "error in stream",
  "cut",
  "reset within",
  "stall",
  "garbage",
  "surplus",
  "error in 200",
  "interim",
  "early refusal",
  "cut off",
  "linger",
] as const;

type Fate = (typeof FATES)[number];

/** How the end of an answer is marked: by its length, by its last chunk, or by the end of its connection. */
type Framing = "length" | "chunked" | "close";

/** The fate that a scene plans for a request. The seed chooses what is absent. */
export interface PlannedFate {
  readonly fate: Fate;
  /** The `Retry-After` of a refusal, in seconds. */
  readonly retryAfter?: number;
  /** The index of the event at which an answer breaks off; `output` stands for the one after the first output. */
  readonly stopsAt?: number | "output";
  /** The time before the answer begins, in milliseconds. */
  readonly afterMs?: number;
  /** How the end of an answer is marked; by default, the seed chooses. */
  readonly framing?: Framing;
  /** True when the body of a refusal stops in its middle. */
  readonly isHalf?: boolean;
  /** True when the head of an answer has nine kilobytes. */
  readonly hasLongHead?: boolean;
  /** True when an answer has `connection: close`, and the connection closes 300 ms after it. */
  readonly endsConnection?: boolean;
  /** True when an answer of Messages begins with many pings, and a pause of 10 s. */
  readonly isSlowToSpeak?: boolean;
  /** True when the answer contains the key of the request. */
  readonly leaks?: boolean;
  /** The whole response, one character for each byte. The connection closes after it. */
  readonly raw?: string;
}

/** The weights of the fates that can happen at a provider for a while. */
type Mood = Partial<Record<Fate, number>> & {
  /** The percentages of dials that are refused, or never open. */
  readonly refused?: number;
  readonly hanging?: number;
};

const MOODS: readonly Mood[] = [
  { "answer": 100 },
  { "answer": 60, "slow answer": 40 },
  { "answer": 80, "overloaded": 10, "server error": 5, "rate limit": 5 },
  { "answer": 20, "rate limit": 60, "long rate limit": 20 },
  { "server error": 50, "overloaded": 50 },
  { "answer": 50, "reset before": 20, "close before": 20, "garbage": 10 },
  {
    "answer": 60,
    "cut": 10,
    "reset within": 10,
    "error in stream": 10,
    "stall": 10,
  },
  { "answer": 70, "silence": 30 },
  { "answer": 60, "refused": 60, "hanging": 20 },
  { "refused": 100 },
  {
    "answer": 80,
    "unauthorized": 10,
    "bad request": 5,
    "oversized request": 5,
  },
  { "answer": 40, "interim": 30, "cut off": 10, "early refusal": 20 },
  { "answer": 60, "surplus": 40 },
];

/** A provider at the level of bytes. It notes each request in a ledger, and its mood chooses the response. */
export class SimulatedProvider {
  readonly name: string;
  readonly host: string;
  readonly protocols: readonly Protocol[];
  readonly ledger: LedgerEntry[];
  /** The connections that are open at the provider's end. */
  readonly sockets: Set<SimulatedSocket> = new Set();
  /** The moments at which its open connections went silent. */
  readonly lostMs: number[] = [];
  /** The number of connections that were opened. */
  opened = 0;
  /** The most bytes that arrive from it at once; by default, the seed chooses. */
  mostBytes: number | undefined;
  /** The dials that never opened. */
  readonly hung: { readonly startedMs: number; endedMs: number }[] = [];
  /** The planned fates of its next requests; after them, the mood chooses. */
  readonly planned: PlannedFate[] = [];
  /** The planned results of the next dials. `late` opens after a minute, even if its request has ended. */
  readonly dials: ("refuse" | "hang" | "late")[] = [];
  /** True when its answers come without pauses. */
  isQuick = false;
  /** Returns true for a valid key; absent when every key is valid. */
  accepts: ((key: string | undefined) => boolean) | undefined;
  /** Fields that it refuses as unknown. */
  readonly unknownFields: Set<string> = new Set();
  /** True when it refuses strict tools with an optional property and quotes the property's name. */
  quotesNames = false;
  /** The most requests that it serves at once; it refuses others. */
  capacity: number | undefined;
  /** The quota of its key; absent if it has none. */
  quota: SimulatedQuota | undefined;
  /** The time for which it keeps an idle connection, in seconds, as its `keep-alive` header says. */
  keepAliveSeconds: number | undefined;
  #mood: Mood = { answer: 100 };
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #trace: Trace;

  /** @param ledger Shared by the providers of a world, in order of arrival. */
  constructor(
    { name, protocols, time, random, trace, ledger }: {
      readonly name: string;
      readonly protocols: readonly Protocol[];
      readonly time: VirtualTime;
      readonly random: Random;
      readonly trace: Trace;
      readonly ledger: LedgerEntry[];
    },
  ) {
    this.name = name;
    this.host = `${name}.example`;
    this.protocols = protocols;
    this.ledger = ledger;
    this.#time = time;
    this.#random = random;
    this.#trace = trace;
  }

  /** The first of its protocols. */
  get protocol(): Protocol {
    return this.protocols[0] ?? "chat";
  }

  /** Changes to a random mood. */
  changeMood(): void {
    this.#mood = this.#random.pick(MOODS);
    if (this.#random.below(6) === 0) this.quota?.giveBack();
    this.#trace.note(`${this.name} changes to ${JSON.stringify(this.#mood)}`);
  }

  /** Closes all connections in good order, as a provider closes idle ones. */
  closeIdle(): void {
    for (const socket of [...this.sockets]) socket.finish();
  }

  /** Serves every request from now on. */
  recover(): void {
    this.#mood = { answer: 100 };
    this.quota?.giveBack();
  }

  /** Breaks every open connection: resets it, or makes it silent if `isLost`. */
  breakSockets(isLost: boolean): void {
    this.#trace.note(`${this.name} ${isLost ? "loses" : "resets"} its sockets`);
    for (const socket of [...this.sockets]) {
      if (isLost) socket.isLost = true;
      else socket.reset();
    }
    if (isLost) this.lostMs.push(this.#time.elapsedMs());
  }

  /** Opens a connection; see {@linkcode Dial}. */
  async dial(signal: AbortSignal): Promise<SimulatedSocket> {
    const luck = this.#random.below(100);
    const wanted = this.dials.shift();
    const { refused = wanted === "refuse" ? 100 : 0, hanging = 0 } = this.#mood;
    await this.#time.sleep(1 + this.#random.below(80));
    if (wanted === "late") await this.#time.sleep(60_000);
    else signal.throwIfAborted();
    if (luck < refused) throw new Error("Connection refused (os error 111)");
    if (luck < refused + hanging || wanted === "hang") {
      const hung = { startedMs: this.#time.elapsedMs(), endedMs: Infinity };
      this.hung.push(hung);
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          hung.endedMs = this.#time.elapsedMs();
          reject(signal.reason);
        })
      );
    }
    this.opened++;
    const socket = new SimulatedSocket(
      ...[this.#time, this.#random, this.mostBytes] as const,
    );
    this.sockets.add(socket);
    socket.attach(new Service(this, socket));
    return socket;
  }

  /** Chooses the fate of a request whose head has arrived. */
  fate(): PlannedFate {
    const { limit = 0, used = -1, resetsMs = 0 } = this.quota ?? {};
    if (used >= limit) {
      const retryAfter = Math.ceil((resetsMs - this.#time.elapsedMs()) / 1000);
      return { fate: "long rate limit", retryAfter };
    }
    if (this.#isFull) return { fate: "rate limit", retryAfter: 0 };
    return this.planned.shift() ?? { fate: this.#fate() };
  }

  get #isFull(): boolean {
    if (this.capacity === undefined) return false;
    const running = this.ledger.filter(({ provider, endedMs }) =>
      provider === this.name && endedMs === undefined
    );
    return running.length >= this.capacity;
  }

  /** Notes a request in the ledger and plays its fate. */
  async serve(
    { head, text, planned: wanted }: ReceivedRequest,
    line: Line,
  ): Promise<void> {
    const protocol = protocolOf(head);
    const parsed = parseJson(text);
    // An early refusal comes before the whole body has arrived.
    const { groups: beginning } = MODEL_REGEXP.exec(text) ?? {};
    const body = isJsonObject(parsed) ? parsed : { ...beginning };
    const entry: LedgerEntry = {
      request: Number(NUMBER_REGEXP.exec(text)?.[1] ?? -1),
      provider: this.name,
      key: /^(?:authorization: Bearer|x-api-key:) (\S+)/im.exec(head)?.[1],
      ...{ protocol, head, body, receivedMs: this.#time.elapsedMs() },
      ...{ answer: undefined, status: undefined, payload: "" },
      ...{ isWhole: false, endedMs: undefined },
    };
    this.ledger.push(entry);
    line.entry = entry;
    const planned: PlannedFate = this.accepts?.(entry.key) === false
      ? { fate: "unauthorized" }
      : wanted;
    const { fate } = planned;
    this.#trace.note(`${this.name} receives #${entry.request} : ${fate}`);
    try {
      await this.#play(planned, entry, line);
    } catch (cause) {
      if (!line.socket.isOver) throw cause;
    } finally {
      const isOver = !OPEN_ENDED.has(fate) && planned.isHalf !== true;
      if (isOver) this.#end(entry);
    }
  }

  /** Called when the gateway has closed a connection. */
  closed({ socket, entry }: Line): void {
    this.sockets.delete(socket);
    if (entry === undefined || entry.endedMs !== undefined) return;
    this.#trace.note(`${this.name} is left by #${entry.request}`);
    this.#end(entry);
  }

  #end(entry: LedgerEntry): void {
    entry.endedMs ??= this.#time.elapsedMs();
  }

  #fate(): Fate {
    const total = FATES.reduce((sum, one) => sum + (this.#mood[one] ?? 0), 0);
    let at = this.#random.below(Math.max(total, 1));
    for (const fate of FATES) {
      at -= this.#mood[fate] ?? 0;
      if (at < 0) return fate;
    }
    return "answer";
  }

  async #play(
    planned: PlannedFate,
    entry: LedgerEntry,
    line: Line,
  ): Promise<void> {
    const random = this.#random;
    const { fate, retryAfter, isHalf } = planned;
    const usual = this.isQuick ? 1 : 800;
    const pause = fate === "slow answer" ? 20_000 : usual;
    await this.#time.sleep(planned.afterMs ?? random.below(pause));
    const unknown = [...this.unknownFields].find((one) => one in entry.body);
    if (unknown !== undefined) {
      const message = `Unsupported parameter: '${unknown}'`;
      entry.refused = unknown;
      return this.#refuse(entry, line, 400, { message });
    }
    const name = this.quotesNames ? strictOptional(entry.body) : undefined;
    if (name !== undefined) {
      const message = `Invalid schema for function 'f': Missing '${name}'.`;
      return this.#refuse(entry, line, 400, { message });
    }
    if (planned.raw !== undefined) {
      line.socket.send(Buffer.from(planned.raw, "latin1"));
      return line.socket.finish();
    }
    switch (fate) {
      case "overloaded":
        return this.#refuse(entry, line, random.pick([503, 529]));
      case "server error":
        return this.#refuse(entry, line, random.pick([500, 502]), { isHalf });
      case "rate limit":
        return this.#refuse(
          entry,
          line,
          429,
          { retryAfter: retryAfter ?? random.pick([0, 1, 3, 20]) },
        );
      case "long rate limit":
        return this.#refuse(
          entry,
          line,
          429,
          { retryAfter: retryAfter ?? 600 + random.below(1e6) },
        );
      case "oversized request":
        entry.isOversized = true;
        return this.#refuse(entry, line, 429, {
          message: random.pick(OVERSIZED),
          retryAfter: random.pick([0, 0, 60]),
        });
      case "unauthorized":
        return this.#refuse(entry, line, 401);
      case "bad request":
        return this.#refuse(entry, line, 400);
      case "early refusal":
        this.#refuse(entry, line, 503);
        return line.socket.finish();
      case "reset before":
        return line.socket.reset();
      case "close before":
        return line.socket.finish();
      case "silence":
        return;
      case "error in 200": {
        const error = JSON.stringify(errorBody(entry.protocol, "api_error"));
        line.write(headOf("length", error.length, false, []) + error);
        return line.done();
      }
      case "garbage":
        line.write(random.pick([
          "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
          "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
          "<html>",
        ]));
        return line.socket.finish();
      default:
        return await this.#answer(planned, entry, line);
    }
  }

  /** Charges an answer when it begins, and sometimes another client of the same key. */
  #charge(entry: LedgerEntry, answer: PlannedAnswer): void {
    entry.charged = answer.inputTokens + answer.outputTokens;
    if (this.quota === undefined) return;
    this.quota.charge(entry.charged);
    if (this.#random.below(8) === 0) this.quota.charge(entry.charged);
  }

  #refuse(
    entry: LedgerEntry,
    line: Line,
    status: number,
    { retryAfter = 0, isHalf = false, message }: {
      readonly retryAfter?: number | undefined;
      readonly isHalf?: boolean | undefined;
      readonly message?: string;
    } = {},
  ): void {
    // No one would receive it.
    if (line.socket.isOver) return;
    entry.status = status;
    entry.retryAfter = retryAfter;
    const type = status === 429 ? "rate_limit_error" : `error_${status}`;
    const body = JSON.stringify(errorBody(entry.protocol, type, message));
    const wait = retryAfter > 0 ? `retry-after: ${retryAfter}\r\n` : "";
    line.write(
      `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\n${wait}content-length: ${body.length}\r\n\r\n${
        isHalf ? body.slice(0, body.length / 2) : body
      }`,
    );
    if (!isHalf) line.done();
  }

  async #answer(
    { fate, ...planned }: PlannedFate,
    entry: LedgerEntry,
    line: Line,
  ): Promise<void> {
    const random = this.#random;
    const { protocol, body } = entry;
    const { tools, stream, stream_options: options, model } = body;
    const attempts = this.ledger.filter((one) => one.request === entry.request);
    const number = 10 * entry.request + attempts.length;
    const whole = planAnswer(number, random, Array.isArray(tools));
    const answer = planned.leaks
      ? { ...whole, pieces: [...whole.pieces, `${entry.key} `] }
      : whole;
    entry.answer = answer;
    entry.status = 200;
    this.#charge(entry, answer);
    const writer = WRITERS[protocol];
    const isStream = stream === true;
    const withUsage = isJsonObject(options) && options.include_usage === true;
    const all = isStream
      ? writer.events(answer, String(model), withUsage)
      : [JSON.stringify(writer.whole(answer, String(model)))];
    const [beginning = "", ...others] = all;
    const waiting = planned.isSlowToSpeak
      ? Array.from({ length: WAITING_EVENTS }, () => PING)
      : [];
    const events = [beginning, ...waiting, ...others];
    const text = events.join("");
    const usualFraming = isStream
      ? random.pick(["chunked", "chunked", "close"] as const)
      : random.pick(["length", "chunked", "close"] as const);
    const framing = planned.framing ?? usualFraming;
    const isWhole = WHOLE.has(fate);
    const stopsAt = isWhole
      ? undefined
      : planned.stopsAt === "output"
      ? isStream ? AFTER_OUTPUT[protocol] : 0
      : planned.stopsAt ?? random.below(events.length);
    const usualMs = this.isQuick ? 1 : 300;
    const pauseMs = fate === "slow answer" ? 4000 : usualMs;
    if (fate === "interim") line.write(INTERIM.repeat(1 + random.below(3)));
    const length = Buffer.byteLength(text);
    line.write(headOf(framing, length, isStream, [
      ...[`x-answer: answer-${number}`, "x-gateway-dropped: everything"],
      ...["set-cookie: account=1", "alt-svc: h3", `x-echo: ${entry.key}`],
      ...this.keepAliveSeconds === undefined
        ? []
        : [`keep-alive: timeout=${this.keepAliveSeconds}`],
      ...planned.hasLongHead ? [`x-padding: ${"p".repeat(9000)}`] : [],
      ...planned.endsConnection ? ["connection: close"] : [],
    ]));
    for (const [at, event] of events.entries()) {
      if (random.below(3) === 0) await this.#time.sleep(random.below(pauseMs));
      if (waiting.length > 0 && at > waiting.length) {
        await this.#time.sleep(10_000);
        waiting.length = 0;
      }
      if (line.socket.isOver) return;
      if (at === stopsAt) {
        if (fate === "stall") return;
        if (fate === "reset within") return line.socket.reset();
        if (fate === "cut off") return line.socket.cutOff();
        if (fate === "error in stream" && isStream) {
          line.frame(framing, ERROR_EVENTS[protocol]);
          entry.payload += ERROR_EVENTS[protocol];
          return line.end(framing);
        }
        const part = event.slice(0, random.below(event.length)).toWellFormed();
        line.frame(framing, part);
        entry.payload += part;
        entry.isWhole = entry.payload.split("\n").some(isLastEvent);
        return line.socket.finish();
      }
      line.frame(framing, event);
      entry.payload += event;
    }
    entry.isWhole = true;
    if (fate === "linger") return;
    if (planned.endsConnection) line.isDeaf = true;
    line.end(framing);
    if (planned.endsConnection) {
      await this.#time.sleep(300);
      line.socket.finish();
    }
    if (fate !== "surplus" || framing === "close") return;
    // A client that reads this as its next response mixes up two callers.
    const surplus = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    line.socket.sendBehind(Buffer.from(surplus));
  }
}

/**
 * Returns true for a line with the last event (docs/design.md, "The last event"). Neither `[DONE]` nor the empty line
 * after the event is needed.
 */
function isLastEvent(line: string): boolean {
  return LAST_EVENT_REGEXP.test(line) &&
    parseJson(line.replace("data: ", "")) !== undefined;
}

const LAST_EVENT_REGEXP =
  /^data: .*(?:"finish_reason":"|"type":"(?:message_stop|response\.completed)")/;

/** The fates with a whole answer. `linger` does not end its framing. */
const WHOLE: ReadonlySet<Fate> = new Set(
  ["answer", "slow answer", "surplus", "interim", "linger"],
);

/** The fates after which the connection stays open and silent. */
const OPEN_ENDED: ReadonlySet<Fate> = new Set(["silence", "stall", "linger"]);

/** The number of pings before a slow answer. */
const WAITING_EVENTS = 100;

/** Messages of providers for a request that alone exceeds a rate limit. */
const OVERSIZED = [
  "Request too large for model-one on tokens per min (TPM): Limit 30000, Requested 36055. The input or output tokens must be reduced.",
  "Extra usage is required for long context requests.",
];

const INTERIM = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

/** Finds the number of a request in its prompt. */
const NUMBER_REGEXP = /#(\d+)#/;

const MODEL_REGEXP = /"model":"(?<model>[^"]+)"/;

/** The index of the event after the first output. */
const AFTER_OUTPUT = { chat: 2, messages: 4, responses: 5 } as const;

function headOf(
  framing: string,
  length: number,
  isStream: boolean,
  more: readonly string[],
): string {
  const type = isStream ? "text/event-stream" : "application/json";
  const framed = framing === "length"
    ? `content-length: ${length}\r\n`
    : framing === "chunked"
    ? "transfer-encoding: chunked\r\n"
    : "connection: close\r\n";
  const fields = more.map((field) => `${field}\r\n`).join("");
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${fields}${framed}\r\n`;
}

function protocolOf(head: string): Protocol {
  if (head.includes("/messages ")) return "messages";
  return head.includes("/responses ") ? "responses" : "chat";
}

/** A request that a provider has read. */
interface ReceivedRequest {
  readonly head: string;
  /** The body, as far as it was read. */
  readonly text: string;
  readonly planned: PlannedFate;
}

/** The provider's end of a connection, with writers of responses. */
interface Line {
  readonly socket: SimulatedSocket;
  /** The request that is being served. */
  entry: LedgerEntry | undefined;
  /** True once it reads no more requests. */
  isDeaf: boolean;
  write(text: string): void;
  frame(framing: string, text: string): void;
  /** Ends an answer as its framing requires. */
  end(framing: string): void;
  /** Ends an exchange; the connection may serve the next one. */
  done(): void;
}

/** Reads the requests on one connection, one after another. */
class Service implements Line {
  readonly socket: SimulatedSocket;
  entry: LedgerEntry | undefined;
  isDeaf = false;
  readonly #provider: SimulatedProvider;
  #bytes = Buffer.alloc(0);
  #planned: PlannedFate | undefined;

  constructor(provider: SimulatedProvider, socket: SimulatedSocket) {
    this.#provider = provider;
    this.socket = socket;
  }

  onBytes(bytes: Uint8Array): void {
    if (this.isDeaf) return;
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const headEnd = this.#bytes.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#bytes.subarray(0, headEnd).toString("latin1");
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    this.#planned ??= this.#provider.fate();
    const end = headEnd + 4 + length;
    const text = this.#bytes.subarray(headEnd + 4, end).toString("utf8");
    const isEarly = this.#planned.fate === "early refusal" &&
      NUMBER_REGEXP.test(text);
    if (this.#bytes.length < end && !isEarly) return;
    this.#bytes = this.#bytes.subarray(end);
    const received = { head, text, planned: this.#planned };
    this.#planned = undefined;
    void this.#provider.serve(received, this);
  }

  onClosed(): void {
    this.#provider.closed(this);
  }

  write(text: string): void {
    if (!this.socket.isOver) this.socket.send(Buffer.from(text));
  }

  frame(framing: string, text: string): void {
    if (text === "") return;
    this.write(
      framing === "chunked"
        ? `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
        : text,
    );
  }

  end(framing: string): void {
    if (framing === "chunked") this.write("0\r\n\r\n");
    if (framing === "close") this.socket.finish();
    else this.done();
  }

  done(): void {
    this.entry = undefined;
  }
}

/** Returns a dial of the HTTP client that finds the simulated providers by host name. */
export function createSimulatedDial(
  providers: readonly SimulatedProvider[],
): Dial {
  return async ({ hostname }, signal) => {
    const provider = providers.find(({ host }) => host === hostname);
    if (provider === undefined) throw new Error(`No provider ${hostname}`);
    return { duplex: await provider.dial(signal) };
  };
}

/** Returns the secret key of a provider. */
export function keyOf({ name }: { readonly name: string }): string {
  return `sk-secret-of-${name}`;
}

/** Returns the first optional property of a strict tool in a request of Chat Completions. */
function strictOptional({ tools }: JsonObject): string | undefined {
  for (const one of objectsOf(tools)) {
    const tool = objectOf(one.function);
    if (tool.strict !== true) continue;
    const { properties, required } = objectOf(tool.parameters);
    return Object.keys(objectOf(properties))
      .find((name) => !listOf(required).includes(name));
  }
  return undefined;
}
