import assert from "node:assert/strict";
import {
  readBaseUrl,
  readHttpUrl,
} from "../../../src/config/resolve/endpoints.ts";

const GOOD:
  readonly (readonly [text: string, url: string, exposed: boolean])[] = [
    ["https://api.example.com/v1", "https://api.example.com/v1", false],
    ["https://api.example.com/v1///", "https://api.example.com/v1", false],
    ["https://API.Example.com:443/", "https://api.example.com", false],
    ["https://api.example.com/a/../v1", "https://api.example.com/v1", false],
    ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1", false],
    ["http://127.9.9.9/v1", "http://127.9.9.9/v1", false],
    ["http://localhost:11434/v1", "http://localhost:11434/v1", false],
    ["http://llm.localhost/v1", "http://llm.localhost/v1", false],
    ["http://[::1]:8080", "http://[::1]:8080", false],
    ["http://10.0.0.5/v1", "http://10.0.0.5/v1", true],
    ["http://localhost.example.com", "http://localhost.example.com", true],
    ["http://127.0.0.1.example.com", "http://127.0.0.1.example.com", true],
  ];

Deno.test("readBaseUrl() reads", async (t) => {
  for (const [text, url, exposed] of GOOD) {
    await t.step(text, () => {
      assert.deepEqual(readBaseUrl(text, "chat"), { url, exposed });
    });
  }
});

const NO_URL = "must be a URL such as https://api.example.com/v1.";
const NO_BASE = "must be a base URL, without a query or a fragment.";

const BAD: Readonly<Record<string, string>> = {
  "": NO_URL,
  "api.example.com/v1": NO_URL,
  "/v1": NO_URL,
  "ftp://api.example.com": NO_URL,
  "file:///etc/passwd": NO_URL,
  "javascript:alert(1)": NO_URL,
  "https://": NO_URL,
  " https://api.example.com": NO_URL,
  "https://api.exa\nmple.com": NO_URL,
  "https://api.example.com/a b": NO_URL,
  "https://api.example.com/v1?x=1": NO_BASE,
  "https://api.example.com/v1?": NO_BASE,
  "https://api.example.com/v1#x": NO_BASE,
  "https://user:canary@example.com":
    "must not hold credentials. Set them in auth.",
  "https://canary@example.com": "must not hold credentials. Set them in auth.",
  "https://api.example.com/v1/chat/completions/":
    "must be a base URL. Leave out /chat/completions, which the gateway appends.",
};

Deno.test("readBaseUrl() rejects", async (t) => {
  for (const [text, fault] of Object.entries(BAD)) {
    await t.step(JSON.stringify(text), () => {
      assert.deepEqual(readBaseUrl(text, "chat"), { fault });
    });
  }
});

Deno.test("readBaseUrl() recognizes the paths of the endpoint only", () => {
  const url = "https://api.example.com/messages";
  assert.deepEqual(readBaseUrl(url, "chat"), { url, exposed: false });
  assert.ok("fault" in readBaseUrl(url, "messages"));
  assert.ok("fault" in readBaseUrl(`${url}/count_tokens`, "messages"));
});

Deno.test("readHttpUrl() allows a query", () => {
  assert.deepEqual(readHttpUrl("https://api.example.com/quota?type=2"), {
    url: "https://api.example.com/quota?type=2",
    exposed: false,
  });
});
