import assert from "node:assert/strict";
import {
  dataUrl,
  normalMediaType,
  sourceOfUrl,
} from "../../../../src/protocols/canonical/request/media.ts";

Deno.test("sourceOfUrl() takes a data URL apart", () => {
  assert.deepEqual(sourceOfUrl("data:image/PNG;base64,aGk="), {
    type: "base64",
    mediaType: "image/png",
    data: "aGk=",
  });
  assert.deepEqual(sourceOfUrl("data:text/plain;charset=utf-8;base64,aGk="), {
    type: "base64",
    mediaType: "text/plain",
    data: "aGk=",
  });
});

Deno.test("sourceOfUrl() keeps another URL as it is", () => {
  assert.deepEqual(sourceOfUrl("https://example.com/a.png"), {
    type: "url",
    url: "https://example.com/a.png",
  });
});

Deno.test("sourceOfUrl() finds nothing in a data URL without base64 content", () => {
  for (const url of ["data:text/plain,hi", "data:", "data:image/png;base64"]) {
    assert.equal(sourceOfUrl(url), undefined, url);
  }
});

Deno.test("dataUrl() undoes sourceOfUrl()", () => {
  assert.equal(
    dataUrl({ mediaType: "image/png", data: "aGk=" }),
    "data:image/png;base64,aGk=",
  );
});

Deno.test("normalMediaType() knows the registered name of JPEG", () => {
  assert.equal(normalMediaType(" image/JPG "), "image/jpeg");
});
