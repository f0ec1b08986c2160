import assert from "node:assert/strict";
import { releaseDenoError } from "../../release/executable.ts";

Deno.test("a release needs Deno 2.9 or newer", () => {
  for (const version of ["2.9.0", "2.9.6", "2.10.0", "3.0.1", "2.9.0-rc.1"]) {
    assert.equal(releaseDenoError(version), undefined, version);
  }
  for (const version of ["2.8.3", "2.7.11", "1.46.3", "", "canary"]) {
    const error = releaseDenoError(version) ?? assert.fail(version);
    assert.match(
      error,
      /^Cannot make a release with Deno .*: .*\. Use Deno 2\.9 or newer\.$/,
    );
  }
});
