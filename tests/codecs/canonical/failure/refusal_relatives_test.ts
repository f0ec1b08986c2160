import assert from "node:assert/strict";
import type { JsonValue } from "../../../../src/base/json.ts";
import type { FailureKind } from "../../../../src/codecs/canonical/failure/failure.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { withWait } from "../../../../src/gateway/relay/answer_failure.ts";
import { withWindow } from "../../../../src/gateway/relay/routing/attempt_report.ts";
import {
  connectionFile,
  minimalConfig,
} from "../../../support/gateway/config.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { windowOf } from "../../../gateway/quotas/quota_case.ts";

const NOW_MS = Date.parse("2026-11-28T12:00:00Z");

type Row = readonly [
  name: string,
  status: number,
  body: JsonValue,
  kind: FailureKind,
  waitSeconds?: number,
];

const openAi = (message: string, fields: Record<string, JsonValue> = {}) => ({
  error: { message, param: null, ...fields },
});

const zai = (code: string | number, message: string) => ({
  error: { code, message },
});

/** Google's error of a used-up quota with an id, and the delay that it names. */
const google = (quotaId: string, retryDelay: string) => [{
  error: {
    code: 429,
    message:
      "You exceeded your current quota, please check your plan and billing details.",
    status: "RESOURCE_EXHAUSTED",
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [{ quotaMetric: "m", quotaId, quotaValue: "20" }],
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
    ],
  },
}];

const RESET = "Your limit will reset at 2026-11-29 00:43:31";

const ROWS: readonly Row[] = [
  ...["permission_denied", "permission_error", "access_denied"].map((
    code,
  ): Row => [
    `a payment, whatever ${code} says of rights`,
    402,
    openAi("You cannot use this model.", { code }),
    "quota",
  ]),
  ["an account that no payment opens", 402, {
    detail: { code: "deactivated_workspace" },
  }, "permission"],
  [
    "DashScope, a minute",
    429,
    openAi("Allocated quota exceeded, please increase your quota limit.", {
      code: "insufficient_quota",
    }),
    "rate_limited",
  ],
  [
    "DashScope, a free plan",
    429,
    openAi("Free allocated quota exceeded.", { code: "insufficient_quota" }),
    "quota",
  ],
  ["Cloudflare, a day", 429, {
    errors: [{
      code: 4006,
      message:
        "AiError: you have used up your daily free allocation of 10,000 neurons",
    }],
    success: false,
  }, "quota"],
  [
    "Copilot, a long delay",
    429,
    openAi("Sorry, you've hit a rate limit. Please try again in 2 hours."),
    "quota",
    7200,
  ],
  ["Vertex, a minute", 429, [{
    error: {
      code: 429,
      message:
        "Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model",
      status: "RESOURCE_EXHAUSTED",
    },
  }], "rate_limited"],
  [
    "a request above the limit by itself",
    429,
    openAi("Crossed TPM limit. Requested tokens 9000 exceed the limit of 8000"),
    "too_large",
  ],
  [
    "an HTML page",
    429,
    "<html><head><title>429 Too Many Requests</title></head></html>",
    "rate_limited",
  ],
  ...["1308", "1310", "1316", "1317", "1318", "1319", "1320", "1321"].map(
    (code): Row => [`Z.ai ${code}`, 429, zai(code, RESET), "quota", 17_011],
  ),
  [
    "Z.ai, calls of a day",
    429,
    zai("1304", "Daily call limit"),
    "quota",
    14_400,
  ],
  ["Z.ai, an expired plan", 429, zai("1309", "Package has expired"), "quota"],
  ["Z.ai, its code as a number", 429, zai(1308, RESET), "quota", 17_011],
  [
    "Z.ai, a code in the message",
    429,
    openAi(`[1310][${RESET}]`),
    "quota",
    17_011,
  ],
  [
    "Z.ai, with status 200",
    200,
    {
      code: 1308,
      msg: "您的限额将在 2026-11-29 00:43:31 重置",
      success: false,
    },
    "quota",
    17_011,
  ],
  [
    "Google, a minute",
    429,
    google("TokensPerMinutePerProject", "7.5s"),
    "rate_limited",
    7.5,
  ],
  [
    "Google, a day",
    429,
    google("RequestsPerDayPerModel-FreeTier", "3s"),
    "quota",
    72_000,
  ],
  [
    "Google, only a message",
    429,
    [{
      error: {
        code: 429,
        message:
          "You exceeded your current quota, please check your plan and billing details. Please retry in 3.2s.",
        status: "RESOURCE_EXHAUSTED",
      },
    }],
    "rate_limited",
    3.2,
  ],
  [
    "Google, credits",
    429,
    [{
      error: {
        code: 429,
        message: "Your prepayment credits are depleted.",
        status: "RESOURCE_EXHAUSTED",
      },
    }],
    "quota",
  ],
  [
    "Google's plan for developers",
    429,
    {
      error: {
        code: 429,
        message:
          "You have exhausted your capacity on this model. Your quota will reset after 161h39m41s.",
        status: "RESOURCE_EXHAUSTED",
        details: [{
          reason: "QUOTA_EXHAUSTED",
          metadata: { quotaResetDelay: "161h39m41s" },
        }],
      },
    },
    "quota",
    581_981,
  ],
  [
    "a delay in the message",
    429,
    openAi("Slow down. Try again in 1.4s"),
    "rate_limited",
    1.4,
  ],
  [
    "a long delay in the message",
    429,
    openAi("Usage limit reached. Resets in 3h25m."),
    "quota",
    12_300,
  ],
  [
    "seconds since 1970",
    429,
    { error: { message: "Usage limit reached", resets_at: 1_795_910_400 } },
    "quota",
    43_200,
  ],
  [
    "milliseconds since 1970",
    429,
    {
      error: { message: "Usage limit reached", reset_time: 1_795_910_400_000 },
    },
    "quota",
    43_200,
  ],
  [
    "seconds since 1970 in the message",
    429,
    openAi("Claude AI usage limit reached|1795910400"),
    "quota",
    43_200,
  ],
  [
    "a date of RFC 3339",
    429,
    openAi("Weekly limit hit, resets at 2026-11-28T15:00:00+02:00"),
    "quota",
    3600,
  ],
  [
    "a date without a zone, not from China",
    429,
    openAi("Quota used up. It resets at 2026-11-28 15:00:00."),
    "quota",
    10_800,
  ],
  ["Chinese, today", 429, openAi("您今日的额度已用完，请明天再试"), "quota"],
  [
    "Chinese, a delay",
    429,
    openAi("请求过于频繁，请在30秒后重试"),
    "rate_limited",
    30,
  ],
  ["Chinese, 403", 403, openAi("账户余额不足"), "quota"],
  [
    "OpenRouter, a key's day",
    403,
    openAi(
      "Key limit exceeded (daily limit). Manage it using https://openrouter.ai/settings/keys",
    ),
    "quota",
  ],
  [
    "Anthropic, extra usage",
    400,
    openAi(
      "You're out of extra usage. Add more at claude.ai/settings/usage and keep going.",
    ),
    "quota",
  ],
  [
    "a link to billing",
    429,
    openAi("Too many requests. See https://example.com/billing"),
    "rate_limited",
  ],
  [
    "a mention of billing",
    429,
    openAi("Too many requests; see the billing page"),
    "rate_limited",
  ],
  [
    "a mention of billing, with 400",
    400,
    openAi("tools[0].name: 'billing_quota' is not a valid name"),
    "invalid_request",
  ],
  [
    "a thinking budget",
    400,
    openAi("The thinking budget 32768 exceeds the maximum of 24576"),
    "invalid_request",
  ],
  [
    "a field about credits",
    400,
    openAi("Invalid value: 'credits exhausted'", { param: "metadata.state" }),
    "invalid_request",
  ],
  [
    "a known code with an unusual status",
    500,
    openAi("No", { code: "insufficient_quota" }),
    "quota",
  ],
  [
    "a busy model",
    429,
    openAi("Busy", { type: "engine_overloaded_error" }),
    "overloaded",
  ],
  [
    "missing rights, with 429",
    429,
    zai("1311", "Your plan has no access to GLM-5"),
    "permission",
  ],
  [
    "a number that is no time to wait",
    429,
    openAi("Try again later (error code 1234)"),
    "rate_limited",
  ],
  [
    "DashScope, a plan of hours",
    429,
    openAi("hour allocated quota exceeded.", { code: "insufficient_quota" }),
    "quota",
  ],
  [
    "OpenAI, an account without a payment",
    429,
    openAi("Your account is not active, please check your billing details.", {
      code: "billing_not_active",
    }),
    "quota",
  ],
  [
    "xAI, a team without credits",
    403,
    {
      code: "The caller does not have permission to execute the operation",
      error:
        "Your newly created team doesn't have any credits or licenses yet.",
    },
    "quota",
  ],
  [
    "OpenRouter, the spending limit of a key for a day",
    403,
    openAi("Key limit exceeded (daily limit).", { code: 403 }),
    "quota",
  ],
  [
    "Kimi, concurrent requests",
    403,
    openAi(
      "You've reached your concurrent request limit. Please wait for your ongoing requests to finish and try again.",
      { type: "access_terminated_error" },
    ),
    "rate_limited",
  ],
  [
    "OpenAI, too busy",
    503,
    openAi("The model is overloaded.", { type: "server_error" }),
    "overloaded",
  ],
  [
    "GitHub Models, a day",
    429,
    openAi("Rate limit exceeded. Please wait 6400 seconds before retrying."),
    "quota",
    6400,
  ],
  [
    "a time of each day",
    429,
    openAi("Free quota used (30 requests / 5h). Resets at 10:00 UTC."),
    "quota",
    79_200,
  ],
  [
    "a Chinese error that quotes the request",
    400,
    openAi("请求参数有误：用户输入 余额不足"),
    "invalid_request",
  ],
  [
    "Groq, an organization",
    400,
    openAi("Organization has been restricted. Please reach out to support."),
    "authentication",
  ],
  [
    "Bedrock, a model",
    403,
    { message: "You don't have access to the model with the model ID." },
    "permission",
  ],
  [
    "LiteLLM, an account without credit",
    400,
    openAi(
      'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}',
    ),
    "quota",
  ],
];

for (const [name, status, body, kind, waitSeconds] of ROWS) {
  Deno.test(`decodeFailure() finds the kind and the wait of a limit: ${name}`, () => {
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      assert.equal(failure.kind, kind, protocol);
      const { retryAfterMs } = withWait(failure, NOW_MS);
      assert.equal(
        retryAfterMs,
        waitSeconds === undefined ? undefined : 1000 * waitSeconds,
        protocol,
      );
    }
  });
}

Deno.test("a quota error without a time resets with the used-up window of /limits", async () => {
  const body = openAi("You've reached your weekly (7-day) usage limit.", {
    type: "access_terminated_error",
  });
  const { kind, status, retryAfterMs } = CODECS.chat.decodeFailure(403, body);
  const { connections } = await minimalConfig({
    connections: [connectionFile()],
  });
  const [connection] = connections;
  assert.ok(connection);
  const resets_at = new Date(NOW_MS + 7_200_000).toISOString();
  const known = () => [
    windowOf("USAGE_LIMIT week percent 100 100 0 100", { resets_at }),
  ];
  const knowledge = {
    harvest: { reading: () => undefined },
    quotas: { known },
    clock: { now: () => NOW_MS },
  };
  const failure = { kind, status, retryAfterMs };
  assert.equal(
    withWindow(failure, connection, knowledge).retryAfterMs,
    7_200_000,
  );
  // A limit of concurrent requests ends long before the window.
  const moment = { ...failure, kind: "rate_limited" } as const;
  assert.equal(
    withWindow(moment, connection, knowledge).retryAfterMs,
    undefined,
  );
});

Deno.test("a lasting limit reaches callers without a code that makes clients repeat", () => {
  const body = openAi(
    "Rate limit reached on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.",
    { type: "requests", code: "rate_limit_exceeded" },
  );
  for (const from of PROTOCOLS) {
    const failure = CODECS[from].decodeFailure(429, body);
    for (const to of PROTOCOLS) {
      const sent = CODECS[to].encodeFailure(failure, "req_1").body;
      assert.doesNotMatch(JSON.stringify(sent), /rate_limit/, `${from} ${to}`);
    }
  }
});
