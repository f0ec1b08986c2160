import type {
  HttpClient,
  HttpRequest,
  HttpResponse,
} from "../../../src/http1/message.ts";
import {
  createHttp1Client,
  type Dial,
  type Origin,
} from "../../../src/http1/client/client.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { readAll } from "../../../src/base/streams/byte_reader.ts";
import { createByteReader } from "../../../src/base/streams/byte_reader.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";

type Dialed = Awaited<ReturnType<Dial>>;

/** A response that leaves its connection open. */
export const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A client whose connections the test serves. */
export interface ClientScene extends Disposable {
  readonly client: HttpClient & Disposable;
  readonly timers: FakeTimers;
  /** Each connection that was opened, in order. */
  readonly opened: readonly ScriptedDuplex[];
  readonly origins: readonly Origin[];
  send(request?: Partial<HttpRequest>): Promise<HttpResponse>;
}

interface ClientSceneOptions {
  readonly maxIdle?: number;
  /** Returns the connection of a number; default: one that answers every request. */
  readonly open?: (number: number) => ScriptedDuplex;
  /** Replaces the whole dial. */
  readonly dial?: Dial;
  readonly proxyHeaders?: Dialed["proxyHeaders"];
}

/** Creates a {@linkcode ClientScene} whose clock stands still. */
export function createClientScene(
  { open = answering, dial, proxyHeaders, ...options }: ClientSceneOptions = {},
): ClientScene {
  const timers = createFakeTimers();
  const opened: ScriptedDuplex[] = [];
  const origins: Origin[] = [];
  const client = createHttp1Client({
    ...options,
    deadlines: createDeadlines(timers),
    dial: dial ?? ((origin) => {
      const duplex = open(opened.length);
      opened.push(duplex);
      origins.push(origin);
      return Promise.resolve({ duplex, proxyHeaders });
    }),
  });
  return {
    client,
    timers,
    opened,
    origins,
    send: (request) =>
      within(
        client.send({
          url: "http://provider.example/v1",
          headers: [],
          body: new Uint8Array(3),
          connectMs: 0,
          signal: new AbortController().signal,
          ...request,
        }),
        "the response",
      ),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** Opens a connection that answers every request. */
export function answering(): ScriptedDuplex {
  return createScriptedDuplex({ answers: new Array<string>(100).fill(OK) });
}

/** Reads the body of a response, one character for each byte. */
export async function textOf({ body }: HttpResponse): Promise<string> {
  if (body === null) return "";
  const bytes = await within(readAll(createByteReader(body), 1e8), "the body");
  return new TextDecoder("latin1").decode(bytes);
}
