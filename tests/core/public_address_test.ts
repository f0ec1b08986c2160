import assert from "node:assert/strict";
import { publicAddress } from "../../src/core/public_address.ts";

const URL_OF_REQUEST = "http://gateway:8787/v1/chat/completions";

function addressFor(
  headers: Readonly<Record<string, string>>,
  url = URL_OF_REQUEST,
): string | undefined {
  return publicAddress({ url, headers: new Headers(headers) });
}

Deno.test("the public address is the one of the caller's request or of the first proxy", () => {
  const addresses: readonly [Record<string, string>, string][] = [
    [{}, "http://gateway:8787"],
    [{ host: "10.0.0.7:8787" }, "http://10.0.0.7:8787"],
    [{ host: "[2001:db8::1]:8787" }, "http://[2001:db8::1]:8787"],
    [{ host: "model_gateway:8787" }, "http://model_gateway:8787"],
    [
      { host: "models.example", "x-forwarded-proto": "https" },
      "https://models.example",
    ],
    [
      {
        host: "inner",
        "x-forwarded-host": "Models.example:8443, inner",
        "x-forwarded-proto": "https, http",
      },
      "https://models.example:8443",
    ],
  ];
  for (const [headers, expected] of addresses) {
    assert.equal(addressFor(headers), expected);
  }
  assert.equal(
    addressFor({ host: "models.example" }, "https://models.example/v1/usage"),
    "https://models.example",
  );
});

Deno.test("only http and https with a host name or an address are a public address", () => {
  const hosts = [
    "",
    "a b",
    "evil.example/path",
    "evil.example?x",
    "evil.example#x",
    "user@evil.example",
    "user:pass@evil.example",
    'a"b',
    "a'b",
    "a(b)",
    "a!b",
    "a;b",
    "a`b`",
    "a${b}",
    "a*b",
    "a&b",
    "a:b",
    "a:99999",
    "a:",
    "<script>",
    "\\evil",
    `${"a".repeat(300)}.example`,
  ];
  for (const name of ["host", "x-forwarded-host"]) {
    for (const host of hosts) {
      assert.equal(addressFor({ [name]: host }), undefined, `${name}: ${host}`);
    }
  }
  for (const proto of ["", "javascript", "file", "ws", "https://evil/?"]) {
    assert.equal(addressFor({ "x-forwarded-proto": proto }), undefined, proto);
  }
});
