import assert from "node:assert/strict";
import {
  dataUrl,
  normalMediaType,
  sourceOfFile,
  sourceOfUrl,
} from "../../../../src/protocols/canonical/request/media.ts";

Deno.test("sourceOfUrl() parses a data URL", () => {
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

Deno.test("sourceOfUrl() keeps another URL unchanged", () => {
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

Deno.test("normalMediaType() returns the registered name of JPEG", () => {
  assert.equal(normalMediaType(" image/JPG "), "image/jpeg");
});

Deno.test("sourceOfUrl() and sourceOfFile() recognize bare base64 by its beginning", () => {
  const known = [
    ["JVBERi0xLjcK", "application/pdf"],
    ["iVBORw0KGgoAAAANSUhEUgAA", "image/png"],
    ["/9j/4AAQSkZJRgABAQ", "image/jpeg"],
    ["R0lGODlhAQABAIAAAAUEBA", "image/gif"],
    ["UklGRiQAAABXRUJQVlA4", "image/webp"],
  ] as const;
  for (const [data, mediaType] of known) {
    const source = { type: "base64", mediaType, data };
    assert.deepEqual(sourceOfUrl(data), source);
    assert.deepEqual(sourceOfFile(data), source);
    for (
      const head of ["data:;base64,", "data:application/octet-stream;base64,"]
    ) {
      assert.deepEqual(sourceOfUrl(head + data), source);
    }
  }
});

Deno.test("sourceOfFile() uses the file's name when the content is unknown", () => {
  const names = [
    ["notes.TXT", "text/plain"],
    ["a.b.md", "text/markdown"],
    ["table.csv", "text/csv"],
    ["page.html", "text/html"],
    ["a.json", "application/json"],
    ["a.pdf", "application/pdf"],
    // Documents are the only kind that all models read.
    ["a.what", "application/pdf"],
    [undefined, "application/pdf"],
  ] as const;
  for (const [name, mediaType] of names) {
    assert.deepEqual(sourceOfFile("aGk=", name), {
      type: "base64",
      mediaType,
      data: "aGk=",
    });
  }
});

Deno.test("sourceOfFile() accepts an address and a data URL", () => {
  assert.deepEqual(sourceOfFile("https://example.com/a.pdf", "b.txt"), {
    type: "url",
    url: "https://example.com/a.pdf",
  });
  assert.deepEqual(sourceOfFile("data:text/plain;base64,aGk=", "b.pdf"), {
    type: "base64",
    mediaType: "text/plain",
    data: "aGk=",
  });
  assert.equal(sourceOfFile("data:text/plain,hi"), undefined);
});
