import assert from "node:assert/strict";
import { isPortablePattern } from "../../../../src/protocols/canonical/request/portable_pattern.ts";

// The patterns of schemas that OpenAI compiles, and those that it rejects with 400 ("is not a
// 'regex'", "regex lookaround is not supported").

const TAKEN = [
  "^[0-9a-f]{32}$",
  "^[a-zA-Z0-9_.-]+$",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^(?:a|b)*?c+$",
  "^(foo|bar)?$",
  "^\\s*\\S+\\s*$",
  "^https?:\\/\\/[^\\s/]+",
  "^[^\\u0000-\\u001F\\x7f]+$",
  "^(?P<year>\\d{4})$",
  "^\\$\\{[\\w-]+\\}$",
  "\\(?=",
  "[(?=]",
  "\\bword\\b",
  "^[äöü]+$",
  "^😀{2,}$",
  "[a-]",
  "[-a]",
  "[\\]\\-]",
  "x{2}y{2,}z{2,3}?",
  "a{b",
  "^$",
  "",
];

const REFUSED = [
  // Claude Code 2.1.265's tool Artifact: https://github.com/anthropics/claude-code/issues/92969
  '^(?!__.*__$)[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}"\\\\./[\\]]{1,200}$',
  "[\\p{L}\\p{N}]+",
  "\\P{L}",
  // https://github.com/vercel/ai/pull/21037
  "^(?!\\.)[a-z]+@[a-z]+$",
  "(?=.*@)",
  "(?<=a)b",
  "(?<!a)b",
  "(?<name>a)",
  "\\k<name>",
  "(a)\\1",
  "\\u{1F600}",
  "\\u12",
  "\\x1",
  "\\cA",
  "\\z",
  "\\07",
  "[]a]",
  "[^]",
  "[\\w-.]",
  "[a-\\d]",
  "[a-c-e]",
  "[\\b]",
  "[a",
  "(a",
  "a)",
  "*a",
  "a**",
  "a*+",
  "^*",
  "a{,3}",
  "[z-a]",
  "(?P<n>a)(?P<n>b)",
  "(|+)",
  "(?i)a",
  "\\",
];

Deno.test("a pattern that every engine compiles is portable", () => {
  for (const pattern of TAKEN) {
    assert.equal(isPortablePattern(pattern), true, pattern);
  }
});

Deno.test("a pattern that one of OpenAI's checks rejects is not portable", () => {
  for (const pattern of REFUSED) {
    assert.equal(isPortablePattern(pattern), false, pattern);
  }
});

Deno.test("a pattern that is too long to check is not portable", () => {
  assert.equal(isPortablePattern("[a-z]".repeat(2_000)), true);
  assert.equal(isPortablePattern("[a-z]".repeat(2_001)), false);
});
