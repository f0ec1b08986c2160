import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import { UpstreamFailure } from "../../../src/codecs/canonical/failure/failure.ts";
import { IdleError } from "../../../src/base/streams/watched_reader.ts";
import {
  brokenUpstream,
  failedReading,
  hadSocket,
  oversized,
  reasonOf,
  shortageOf,
  silentUpstream,
  unanswered,
  UpstreamCallError,
} from "../../../src/gateway/upstream/failure.ts";

/** Messages of Deno's errors. Some versions have them in the cause of `fetch failed`. */
const MESSAGES: readonly (readonly [reason: string, message: string])[] = [
  [
    "it refused the connection",
    "error sending request for url (http://10.1.2.3:8000/v1/messages): client error (Connect): tcp connect error: Connection refused (os error 111)",
  ],
  [
    "its host name is unknown",
    "error sending request for url (https://api.example.com/v1): client error (Connect): dns error: failed to lookup address information: Name or service not known",
  ],
  [
    "its host name is unknown",
    "error sending request for url (https://api.example.com/v1): client error (Connect): dns error: failed to lookup address information: nodename nor servname provided, or not known",
  ],
  [
    "its TLS certificate is not valid",
    "error sending request for url (https://10.1.2.3/): client error (Connect): invalid peer certificate: UnknownIssuer",
  ],
  [
    "its TLS certificate is not valid",
    'error sending request for url (https://10.1.2.3/): client error (Connect): invalid peer certificate: certificate not valid for name "10.1.2.3"; certificate is only valid for DnsName("localhost")',
  ],
  [
    "the TLS handshake failed",
    "error sending request for url (https://10.1.2.3/): client error (Connect): received corrupt message of type InvalidContentType",
  ],
  [
    "the TLS handshake failed",
    "error sending request for url (https://10.1.2.3/): client error (Connect): tls handshake eof",
  ],
  [
    "the connection timed out",
    "error sending request for url (http://10.1.2.3/): client error (Connect): tcp connect error: Connection timed out (os error 110)",
  ],
  [
    "its network is unreachable",
    "error sending request for url (http://10.1.2.3/): client error (Connect): tcp connect error: Network is unreachable (os error 101)",
  ],
  [
    "its network is unreachable",
    "error sending request for url (http://10.1.2.3/): client error (Connect): tcp connect error: No route to host (os error 113)",
  ],
  [
    "it closed the connection",
    "error sending request from 10.0.0.1:50740 for http://10.1.2.3:8000/v1/chat (10.1.2.3:8000): client error (SendRequest): connection closed before message completed",
  ],
  [
    "it closed the connection",
    "error sending request from 10.0.0.1:50740 for http://10.1.2.3:8000/v1/chat (10.1.2.3:8000): client error (SendRequest): connection error: Connection reset by peer (os error 104)",
  ],
  [
    "its response is not HTTP",
    "error sending request from 10.0.0.1:50740 for http://10.1.2.3:8000/v1/chat (10.1.2.3:8000): client error (SendRequest): invalid HTTP version parsed",
  ],
  [
    "its response is not HTTP",
    "error sending request from 10.0.0.1:50740 for http://10.1.2.3:8000/v1/chat (10.1.2.3:8000): client error (SendRequest): message head is too large",
  ],
  ["its answer broke off", "error reading a body from connection"],
  ["its answer broke off", "unexpected end of file"],
  ["the connection failed", "something that nobody has seen yet"],
];

Deno.test("reasonOf() reads Deno's errors, directly and as a cause", async (t) => {
  for (const [reason, message] of MESSAGES) {
    await t.step(message.slice(-60), () => {
      assert.equal(reasonOf(new TypeError(message)), reason);
      const cause = new Error(message);
      assert.equal(reasonOf(new TypeError("fetch failed", { cause })), reason);
    });
  }
});

Deno.test("reasonOf() ignores words in the names of hosts and paths", () => {
  const address = "https://dns.refused-tls.example/lookup/expired";
  const messages = [
    `error sending request for url (${address}): client error (SendRequest): connection closed before message completed`,
    `error sending request from 10.0.0.1:1 for ${address} (10.1.2.3:443): client error (SendRequest): connection closed before message completed`,
  ];
  for (const message of messages) {
    assert.equal(reasonOf(new TypeError(message)), "it closed the connection");
  }
});

Deno.test("reasonOf() accepts any thrown value", () => {
  for (const thrown of [undefined, null, 1, "x", {}, new Error("")]) {
    assert.equal(reasonOf(thrown), "the connection failed");
  }
  assert.equal(reasonOf("Connection refused"), "it refused the connection");
});

/** Returns the error of `fetch` for an address of this machine. */
async function provoke(url: string): Promise<unknown> {
  try {
    const answer = await fetch(url, { method: "POST", body: "{}" });
    await answer.bytes();
  } catch (error) {
    return error;
  }
  return assert.fail("there was an answer");
}

/** Returns the error of `fetch` when the server treats connections like this. Some versions try twice. */
async function provokeBy(
  act: (connection: Deno.TcpConn) => Promise<unknown>,
  scheme = "http",
): Promise<unknown> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const acting = (async () => {
    for await (const connection of listener) {
      using _open = connection;
      await connection.read(new Uint8Array(4096));
      await act(connection);
    }
  })();
  try {
    return await provoke(`${scheme}://127.0.0.1:${listener.addr.port}/`);
  } finally {
    listener.close();
    await acting;
  }
}

const say = (text: string) => (connection: Deno.TcpConn) =>
  connection.write(new TextEncoder().encode(text));

Deno.test("reasonOf() reads the errors of the running Deno", async (t) => {
  await t.step("of a port that no server listens on", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    const thrown = await provoke(`http://127.0.0.1:${port}/`);
    assert.equal(reasonOf(thrown), "it refused the connection");
  });
  const cases = [
    ["it closed the connection", "", "http"],
    ["it closed the connection", "HTTP/1.1 200 OK\r\ncontent-le", "http"],
    ["its response is not HTTP", "hello\r\n\r\n", "http"],
    [
      "its answer broke off",
      "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
      "http",
    ],
    ["the TLS handshake failed", "HTTP/1.1 400 Bad Request\r\n\r\n", "https"],
    ["the TLS handshake failed", "", "https"],
  ] as const;
  for (const [reason, text, scheme] of cases) {
    await t.step(`${reason}: ${JSON.stringify(text)}`, async () => {
      const act = text === "" ? () => Promise.resolve() : say(text);
      assert.equal(reasonOf(await provokeBy(act, scheme)), reason);
    });
  }
});

Deno.test("unanswered() names the reason and no address", () => {
  for (const [reason, message] of MESSAGES) {
    const cause = new TypeError(message);
    const error = unanswered(cause);
    assert.equal(error.kind, "upstream");
    assert.equal(error.code, "upstream_unreachable");
    assert.equal(error.cause, cause);
    assert.equal(
      error.message,
      `Cannot reach the model's provider: ${reason}. ${
        reason.includes("certificate")
          ? "Report it to the administrator."
          : "Try again, or report it to the administrator."
      }`,
    );
    assert.equal(error.isFinal, reason.includes("certificate"));
  }
});

Deno.test("brokenUpstream(), oversized() and silentUpstream() return errors with an instruction", () => {
  const cause = new Error("x");
  const broken = brokenUpstream("it is not JSON", cause);
  assert.equal(broken.status, 502);
  assert.equal(broken.code, "upstream_broken");
  assert.equal(broken.cause, cause);
  assert.equal(
    broken.message,
    "Cannot use the answer of the model's provider: it is not JSON. Try again, or report it to the administrator.",
  );
  const long = oversized();
  assert.equal(long.status, 502);
  assert.equal(long.code, "upstream_oversized");
  assert.equal(
    long.message,
    "Cannot use the answer of the model's provider: it is too long. Ask for a shorter one, or report it to the administrator.",
  );
  const silent = silentUpstream();
  assert.equal(silent.status, 504);
  assert.equal(silent.code, "upstream_timeout");
});

Deno.test("hadSocket() distinguishes errors of an open socket from errors of the dial", () => {
  const closed = [
    "client error (SendRequest): connection closed before message completed",
    "client error (SendRequest): connection error: Connection reset by peer (os error 104)",
    "client error (SendRequest): invalid HTTP version parsed",
    "error reading a body from connection: end of file before message length reached",
  ];
  for (const message of closed) {
    assert.ok(hadSocket(new TypeError(message)), message);
  }
  const prevented = [
    ...MESSAGES.map(([, message]) => message).filter((message) =>
      message.includes("(Connect)")
    ),
    "client error (Connect): Connection reset by peer (os error 104)",
    "The connection timed out",
    "something else",
  ];
  for (const message of prevented) {
    assert.ok(!hadSocket(new TypeError(message)), message);
  }
});

Deno.test("unanswered() keeps the reason and the stage of a failure of the gateway's client", () => {
  const progress = { sent: "all", hasAnswer: true, isReused: false } as const;
  const cases = [
    ["closed", "its answer broke off", true, "unreachable"],
    ["malformed", "it does not speak HTTP/1.1", true, "broken"],
  ] as const;
  for (const [kind, message, wasConnected, failureKind] of cases) {
    const cause = new Http1Failure(kind, message, { progress });
    assert.equal(reasonOf(cause), message);
    assert.equal(hadSocket(cause), wasConnected);
    const error = unanswered(cause);
    assert.ok(error instanceof UpstreamCallError);
    assert.equal(error.failureKind, failureKind);
  }
  const refused = new Http1Failure("connect", "no connection", {
    progress,
    cause: new Error("Connection refused (os error 111)"),
  });
  assert.equal(reasonOf(refused), "it refused the connection");
  assert.equal(hadSocket(refused), false);
  assert.equal(unanswered(refused).code, "upstream_unreachable");
});

Deno.test("unanswered() returns a 503 for a shortage of the gateway's machine, and a 502 for other failures", () => {
  const shortages = {
    "Too many open files (os error 24)": "file descriptors",
    "connect EMFILE 127.0.0.1:443": "file descriptors",
    "Too many open files in system (os error 23)": "file descriptors",
    "No buffer space available (os error 105)": "memory",
    "Cannot allocate memory (os error 12)": "memory",
    "Cannot assign requested address (os error 99)": "local ports",
    "Can't assign requested address (os error 49)": "local ports",
  };
  const progress = { sent: "all", hasAnswer: false, isReused: false } as const;
  for (const [message, what] of Object.entries(shortages)) {
    const cause = new Http1Failure("connect", "no connection", {
      progress,
      cause: new Error(message),
    });
    assert.equal(shortageOf(cause), what, message);
    const error = unanswered(cause);
    assert.equal(error.status, 503);
    assert.equal(error.code, "gateway_shortage");
    assert.ok(error.message.includes(what));
    // An open socket ends for another reason.
    const { message: text } = cause;
    const ended = new Http1Failure("closed", text, { progress, cause });
    assert.equal(unanswered(ended).status, 502);
  }
  for (const [, message] of MESSAGES) {
    assert.equal(unanswered(new TypeError(message)).status, 502, message);
  }
});

Deno.test("failedReading() returns the reason of a failed reading", async (t) => {
  const { signal } = new AbortController();
  await t.step("after its exchange was aborted", () => {
    const controller = new AbortController();
    const left = new Error("left");
    controller.abort(left);
    assert.equal(failedReading(new IdleError(), controller.signal), left);
  });
  await t.step("after its upstream fell silent", () => {
    const error = failedReading(new IdleError(), signal);
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "timeout");
  });
  await t.step("that already names its failure", () => {
    const refused = new UpstreamFailure({ kind: "overloaded", message: "no" });
    for (const error of [refused, oversized()]) {
      assert.equal(failedReading(error, signal), error);
    }
  });
  await t.step("that broke off", () => {
    const cause = new TypeError("connection reset");
    const error = failedReading(cause, signal);
    assert.ok(error instanceof GatewayError);
    assert.match(error.message, /it closed the connection/);
    assert.equal(error.cause, cause);
  });
});
