/** The verdict on a response: its status and body, or the kind of failure. */
export type Verdict =
  | { readonly status: number; readonly body: string }
  | "malformed"
  | "closed";

/** A response, one character for each byte, and the expected verdict. */
export interface OddResponse {
  readonly text: string;
  readonly verdict: Verdict;
}

const OK = { status: 200, body: "hello" } as const;

/** The head of a 200 with these fields. */
function head(...fields: readonly string[]): string {
  return `${["HTTP/1.1 200 OK", ...fields].join("\r\n")}\r\n\r\n`;
}

const LENGTH = "content-length: 5";
const CHUNKED = "transfer-encoding: chunked";
const CHUNKS = "5\r\nhello\r\n0\r\n\r\n";

/** Returns a response with the given chunks. */
function chunks(text: string): string {
  return head(CHUNKED) + text;
}

/** Returns a response with one odd field before the others. */
function field(line: string): string {
  return `${head(line, LENGTH)}hello`;
}

/** Valid odd responses, by what is odd. */
const ACCEPTED: Readonly<Record<string, readonly [string, Verdict]>> = {
  "a length": [`${head(LENGTH)}hello`, OK],
  "a length of zero": [head("content-length: 0"), { status: 200, body: "" }],
  "a length with zeros in front": [`${head("content-length: 005")}hello`, OK],
  "a length among spaces": [`${head("Content-Length: \t5 \t")}hello`, OK],
  "no space behind the colons": [`${head("a:b", "content-length:5")}hello`, OK],
  "bytes behind the body": [`${head(LENGTH)}hello\r\nHTTP/1.1 500 x`, OK],
  "chunks": [chunks(CHUNKS), OK],
  "chunks in odd case": [`${head("Transfer-Encoding: Chunked")}${CHUNKS}`, OK],
  "several chunks": [chunks("1\r\nh\r\n004\r\nello\r\n0\r\n\r\n"), OK],
  "sizes in both cases": [
    chunks("A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n"),
    { status: 200, body: "01234567890123456789a" },
  ],
  "no chunk": [chunks("0\r\n\r\n"), { status: 200, body: "" }],
  "bytes behind the chunks": [chunks(`${CHUNKS}5\r\n`), OK],
  "chunk extensions": [chunks('5;a=b;c="d"\r\nhello\r\n0;e\r\n\r\n'), OK],
  "trailers": [
    chunks("5\r\nhello\r\n0\r\na: b\r\nContent-Length: 9\r\n\r\n"),
    OK,
  ],
  "a close instead of a length": [`${head("connection: close")}hello`, OK],
  "a close that nothing announces": [`${head()}hello`, OK],
  "nothing at all behind the head": [head(), { status: 200, body: "" }],
  "HTTP/1.0 with a length": [`HTTP/1.0 200 OK\r\n${LENGTH}\r\n\r\nhello`, OK],
  "HTTP/1.0 without": ["HTTP/1.0 200 OK\r\n\r\nhello", OK],
  "no reason": [`HTTP/1.1 200\r\n${LENGTH}\r\n\r\nhello`, OK],
  "an empty reason": [`HTTP/1.1 200 \r\n${LENGTH}\r\n\r\nhello`, OK],
  "a reason beyond ASCII": [
    `HTTP/1.1 200 \xd6K\t!\r\n${LENGTH}\r\n\r\nhello`,
    OK,
  ],
  "a rare status": [
    `HTTP/1.1 529 Overloaded\r\n${LENGTH}\r\n\r\nhello`,
    { status: 529, body: "hello" },
  ],
  "an early hint": [
    `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${head(LENGTH)}hello`,
    OK,
  ],
  "eight interim responses": [
    "HTTP/1.1 100 Continue\r\n\r\n".repeat(8) + `${head(LENGTH)}hello`,
    OK,
  ],
  "an interim response that announces a body": [
    `HTTP/1.1 100 Continue\r\ncontent-length: 3\r\n\r\n${head(LENGTH)}hello`,
    OK,
  ],
  "a 204 with a length": [
    "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n",
    { status: 204, body: "" },
  ],
  "a 304 with chunks": [
    `HTTP/1.1 304 Not Modified\r\n${CHUNKED}\r\n\r\n`,
    { status: 304, body: "" },
  ],
  "a redirect": [
    `HTTP/1.1 302 Found\r\nlocation: /b\r\n${LENGTH}\r\n\r\nhello`,
    { status: 302, body: "hello" },
  ],
  "an empty field": [field("a:"), OK],
  "a field of bytes beyond ASCII": [field("a: \xe9\xa0"), OK],
  "a field twice": [`${head("a: 1", "A: 2", LENGTH)}hello`, OK],
  "a name of odd characters": [field("!#$%&'*+-.^_`|~9: 1"), OK],
  "a body of line ends": [
    `${head(LENGTH)}\r\n\r\n0`,
    { status: 200, body: "\r\n\r\n0" },
  ],
  "chunks of line ends": [
    chunks("4\r\n\r\n\r\n\r\n0\r\n\r\n"),
    { status: 200, body: "\r\n\r\n" },
  ],
  "a space behind a chunk's size": [chunks(`5 \t${CHUNKS.slice(1)}`), OK],
  "a space before an extension": [chunks("5 ;a\r\nhello\r\n0\r\n\r\n"), OK],
};

/** Incomplete responses, by what is missing. */
const CUT: Readonly<Record<string, string>> = {
  "everything": "",
  "the status": "HTTP/1.1 ",
  "the end of the head": "HTTP/1.1 200 OK\r\na: b\r\n",
  "the last byte of the head": "HTTP/1.1 200 OK\r\n\r",
  "the final response": "HTTP/1.1 100 Continue\r\n\r\n",
  "the body": head(LENGTH),
  "the end of the body": `${head(LENGTH)}hell`,
  "the chunks": chunks(""),
  "the end of a chunk's size": chunks("5"),
  "the end of a chunk": chunks("5\r\nhell"),
  "the line end of a chunk": chunks("5\r\nhello\r"),
  "the last chunk": chunks("5\r\nhello\r\n"),
  "the end of the last chunk": chunks("5\r\nhello\r\n0\r\n"),
  "the end of the trailers": chunks("5\r\nhello\r\n0\r\na: b\r\n"),
  "the last byte of the chunks": chunks("5\r\nhello\r\n0\r\n\r"),
};

/** Responses that break a rule, by the rule. */
const MALFORMED: Readonly<Record<string, string>> = {
  "another protocol": "SSH-2.0-OpenSSH_9.2\r\n",
  "a TLS alert": "\x15\x03\x01\x00\x02\x02\x46",
  "HTTP/2": "\x00\x00\x12\x04\x00\x00\x00\x00\x00",
  "HTTP/0.9": "<html>hello</html>",
  "HTTP/2 in words": `HTTP/2 200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "HTTP/1.2": `HTTP/1.2 200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "HTTP in lower case": `http/1.1 200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "an empty line in front": `\r\n${head(LENGTH)}hello`,
  "a space in front": ` ${head(LENGTH)}hello`,
  "ICY": `ICY 200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "two spaces before the status": `HTTP/1.1  200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "a status of two digits": `HTTP/1.1 20 OK\r\n${LENGTH}\r\n\r\nhello`,
  "a status of four digits": `HTTP/1.1 2000 OK\r\n${LENGTH}\r\n\r\nhello`,
  "a status with a zero in front": `HTTP/1.1 099 OK\r\n${LENGTH}\r\n\r\nhello`,
  "a status that is no number": `HTTP/1.1 2OO OK\r\n${LENGTH}\r\n\r\nhello`,
  "a NUL in the reason": `HTTP/1.1 200 O\x00K\r\n${LENGTH}\r\n\r\nhello`,
  "a DEL in the reason": `HTTP/1.1 200 O\x7fK\r\n${LENGTH}\r\n\r\nhello`,
  "a tab before the status": `HTTP/1.1\t200 OK\r\n${LENGTH}\r\n\r\nhello`,
  "a sign before the status": `HTTP/1.1 -20 OK\r\n${LENGTH}\r\n\r\nhello`,
  "no space behind the status": `HTTP/1.1 200OK\r\n${LENGTH}\r\n\r\nhello`,
  "another protocol that is switched to":
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
  "nine interim responses": "HTTP/1.1 100 Continue\r\n\r\n".repeat(9) +
    `${head(LENGTH)}hello`,
  "LF for line ends": `${head(LENGTH).replaceAll("\r\n", "\n")}hello`,
  "CR for line ends": `${head(LENGTH).replaceAll("\r\n", "\r")}hello`,
  "one bare LF": field("a: b\nc: d"),
  "one bare CR": field("a: b\rc: d"),
  "a bare LF at the end of the head": "HTTP/1.1 200 OK\r\na: b\r\n\nhello",
  "a folded line": field("a: b\r\n c"),
  "a line folded in front": field(" a: b"),
  "a space before a colon": field("a : b"),
  "a tab before a colon": field("a\t: b"),
  "no colon": field("hello"),
  "no name": field(": b"),
  "a NUL in a value": field("a: b\x00c"),
  "a control character in a value": field("a: b\x0bc"),
  "a DEL in a value": field("a: b\x7fc"),
  "a NUL in a name": field("a\x00b: c"),
  "a separator in a name": field("a(b): c"),
  "a space in a name": field("a b: c"),
  "a byte beyond ASCII in a name": field("\xe4: c"),
  "two equal lengths": `${head(LENGTH, LENGTH)}hello`,
  "two lengths": `${head(LENGTH, "content-length: 6")}hello!`,
  "a list of equal lengths": `${head("content-length: 5, 5")}hello`,
  "a list of lengths": `${head("content-length: 5, 6")}hello`,
  "a negative length": `${head("content-length: -5")}hello`,
  "a length with a plus": `${head("content-length: +5")}hello`,
  "a hexadecimal length": `${head("content-length: 0x5")}hello`,
  "a length with a point": `${head("content-length: 5.0")}hello`,
  "an empty length": `${head("content-length:")}hello`,
  "a length of two numbers": `${head("content-length: 5 5")}hello`,
  "a length with a letter": `${head("content-length: 5a")}hello`,
  "a length beyond ASCII": `${head("content-length: \xb2")}he`,
  "a length of sixteen digits": `${
    head("content-length: 9999999999999999")
  }hello`,
  "a length beyond 64 bits": `${
    head("content-length: 18446744073709551621")
  }hello`,
  "two lengths of a 204":
    `HTTP/1.1 204 No Content\r\n${LENGTH}\r\n${LENGTH}\r\n\r\n`,
  "a length beside chunks": head(LENGTH, CHUNKED) + CHUNKS,
  "chunks beside a length": head(CHUNKED, LENGTH) + CHUNKS,
  "chunks of HTTP/1.0": `HTTP/1.0 200 OK\r\n${CHUNKED}\r\n\r\n${CHUNKS}`,
  "gzip and chunks": head("transfer-encoding: gzip, chunked") + CHUNKS,
  "chunks that are not last": head("transfer-encoding: chunked, gzip") +
    CHUNKS,
  "chunks twice": head("transfer-encoding: chunked, chunked") + CHUNKS,
  "chunks in two fields": head(CHUNKED, CHUNKED) + CHUNKS,
  "identity": `${head("transfer-encoding: identity", LENGTH)}hello`,
  "an empty transfer-encoding": `${head("transfer-encoding:")}hello`,
  "chunks with parameters": head("transfer-encoding: chunked;a=b") + CHUNKS,
  "chunks before a comma": head("transfer-encoding: chunked,") + CHUNKS,
  "chunks behind a comma": head("transfer-encoding: , chunked") + CHUNKS,
  "chunks in quotes": head('transfer-encoding: "chunked"') + CHUNKS,
  "gzip alone": `${head("transfer-encoding: gzip")}hello`,
  "almost chunks": head("transfer-encoding: xchunked") + CHUNKS,
  "chunks behind a vertical tab": head("transfer-encoding: \x0bchunked") +
    CHUNKS,
  "a chunk without a size": chunks("\r\nhello\r\n0\r\n\r\n"),
  "a chunk whose size is no number": chunks("g\r\nhello\r\n0\r\n\r\n"),
  "a chunk of negative size": chunks("-5\r\nhello\r\n0\r\n\r\n"),
  "a chunk whose size has a plus": chunks("+5\r\nhello\r\n0\r\n\r\n"),
  "a chunk whose size has a prefix": chunks("0x5\r\nhello\r\n0\r\n\r\n"),
  "a chunk whose size has an underscore": chunks("0_5\r\nhello\r\n0\r\n\r\n"),
  "a chunk beyond 64 bits": chunks("10000000000000005\r\nhello\r\n0\r\n\r\n"),
  "a space before a chunk's size": chunks(` ${CHUNKS}`),
  "a bare LF behind a chunk's size": chunks("5\nhello\r\n0\r\n\r\n"),
  "a bare CR behind a chunk's size": chunks("5\rhello\r\n0\r\n\r\n"),
  "a bare LF behind a chunk": chunks("5\r\nhello\n0\r\n\r\n"),
  "a bare LF in an extension": chunks("5;a\nhello\r\n0\r\n\r\n"),
  "a bare CR in an extension": chunks("5;a\rb\r\nhello\r\n0\r\n\r\n"),
  "a NUL in an extension": chunks("5;a\x00\r\nhello\r\n0\r\n\r\n"),
  "a chunk longer than its size": chunks("4\r\nhello\r\n0\r\n\r\n"),
  "a chunk shorter than its size": chunks("6\r\nhello\r\n0\r\n\r\n"),
  "no line end behind a chunk": chunks("5\r\nhello0\r\n\r\n"),
  "a bare LF at the end of the chunks": chunks("5\r\nhello\r\n0\r\n\n"),
  "a trailer without a colon": chunks("5\r\nhello\r\n0\r\na\r\n\r\n"),
  "a folded trailer": chunks("5\r\nhello\r\n0\r\na: b\r\n c\r\n\r\n"),
  "a trailer with a NUL": chunks("5\r\nhello\r\n0\r\na: \x00\r\n\r\n"),
};

function* rows(): Generator<readonly [string, OddResponse]> {
  for (const [name, [text, verdict]] of Object.entries(ACCEPTED)) {
    yield [name, { text, verdict }];
  }
  for (const [name, text] of Object.entries(CUT)) {
    yield [`without ${name}`, { text, verdict: "closed" }];
  }
  for (const [name, text] of Object.entries(MALFORMED)) {
    yield [name, { text, verdict: "malformed" }];
  }
}

/** Hostile and odd responses to a POST, by what is odd; each ends with its connection. */
export const ODD_RESPONSES: ReadonlyMap<string, OddResponse> = new Map(rows());
