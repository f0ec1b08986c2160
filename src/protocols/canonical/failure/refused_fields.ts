/** The fields of a request that an error names as refused. */
export interface RefusedFields {
  /** Their paths, without the indexes of lists. */
  readonly fields: readonly RefusedField[];
  /** The values that the error lists as accepted; empty when it lists none. */
  readonly accepted: readonly string[];
  /** The values that the error refuses; empty when it names none. */
  readonly refused: readonly string[];
  /** True when the model refuses the fields as such; false when the error may concern one caller's value alone. */
  readonly isForAll: boolean;
  /** The highest `max_tokens` that the error states; `undefined` when it states none. */
  readonly maxTokens: number | undefined;
}

/** A field that an error names. */
export interface RefusedField {
  /** The steps of its path, such as `messages`, `assistant`, `reasoning_content`. */
  readonly path: readonly string[];
  /** True when the provider does not know the field; false when it may refuse the value alone. */
  readonly isUnknown: boolean;
  /** The field beside which it is refused; absent when it is refused alone, too. */
  readonly beside?: string | undefined;
}

/** One form in which providers name a field. */
interface FieldForm {
  readonly provider: string;
  /**
   * The group `field` has the name or its path; the group `at` the path of the object that has it; the group `beside`
   * the other one of two fields that exclude each other.
   */
  readonly pattern: RegExp;
  /** True when the form refuses the field with any value. */
  readonly isUnknown: boolean;
  /** A page that quotes such an error. */
  readonly source: string;
}

/** A name, or a path as providers write it: `tools[0].strict`, `tools.0.strict`, `#/tools/0/strict`. */
const PATH = String.raw`(?<field>[A-Za-z_$][\w$.[\]/-]{0,199})`;

const QUOTE = "[`'\"]";

/** Returns a pattern for each place of a text, in upper or lower case, from other patterns. */
function anywhere(
  strings: TemplateStringsArray,
  ...patterns: readonly string[]
): RegExp {
  return new RegExp(String.raw(strings, ...patterns), "gi");
}

/** The forms. Each is tried on the whole message, since an error may name several fields. */
export const FIELD_FORMS: readonly FieldForm[] = [
  {
    provider: "OpenAI, NVIDIA, vLLM",
    pattern:
      anywhere`\b(?:unsupported|unknown|unrecognized|unexpected) (?:request )?(?:parameter|argument|field|key|property)s?(?:\(s\))?(?: supplied)?:? ${QUOTE}?${PATH}`,
    isUnknown: true,
    source: "https://github.com/vectorize-io/hindsight/issues/3518",
  },
  {
    provider: "OpenAI, about a value",
    pattern:
      anywhere`\b(?:unsupported|invalid) value: '${PATH}' does not support`,
    isUnknown: false,
    source: "https://github.com/Kilo-Org/cloud/pull/3807",
  },
  {
    provider: "Anthropic, Mistral and others with pydantic",
    pattern: anywhere`(?:^|[\s;#/])${PATH}: Extra inputs are not permitted`,
    isUnknown: true,
    source: "https://github.com/Wei-Shaw/claude-relay-service/issues/667",
  },
  {
    provider: "Fireworks",
    pattern: anywhere`Extra inputs are not permitted, field: '${PATH}'`,
    isUnknown: true,
    source: "https://github.com/anomalyco/opencode/issues/24696",
  },
  {
    provider: "pydantic and zod, about a value",
    pattern:
      anywhere`(?:^|[\s;])${PATH}: (?:Input should be|Input tag|Invalid enum value|Invalid option|Invalid input|Value error)`,
    isUnknown: false,
    source: "https://github.com/Alishahryar1/free-claude-code/issues/410",
  },
  {
    provider: "vLLM, unknown fields in Python's own spelling",
    pattern: /'extra_forbidden', 'loc': \((?<field>['\w$, -]{1,200})\)/gi,
    isUnknown: true,
    source: "https://github.com/1Panel-dev/MaxKB/issues/2912",
  },
  {
    provider: "vLLM and SGLang, values in Python's own spelling",
    pattern: /'literal_error', 'loc': \((?<field>['\w$, -]{1,200})\)/gi,
    isUnknown: false,
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/1572",
  },
  {
    provider: "Groq, Cerebras",
    pattern: anywhere`\bproperty '${PATH}' is unsupported`,
    isUnknown: true,
    source: "https://github.com/janhq/jan/issues/8136",
  },
  {
    provider: "Gemini",
    pattern:
      anywhere`Unknown name "${PATH}"(?: at '(?<at>[\w.[\]$-]{1,300})')?: Cannot find field`,
    isUnknown: true,
    source: "https://github.com/BerriAI/litellm/issues/14330",
  },
  {
    provider: "xAI",
    pattern:
      anywhere`(?:Argument not supported(?: on this model)?:|does not support (?:the )?parameter) ${QUOTE}?${PATH}`,
    isUnknown: true,
    source: "https://github.com/open-webui/open-webui/issues/21266",
  },
  {
    provider: "Anthropic, about a setting that a model lacks",
    pattern: anywhere`does not support the ${QUOTE}?${PATH}${QUOTE}? parameter`,
    isUnknown: true,
    source: "https://platform.claude.com/docs/en/build-with-claude/effort",
  },
  {
    provider: "DeepSeek and other servers in Rust",
    pattern:
      anywhere`(?:^|[\s;])${PATH}: (?:unknown variant|unknown role|invalid value)`,
    isUnknown: false,
    source: "https://github.com/BenedictKing/ccx/issues/149",
  },
  {
    provider: "Anthropic, two settings that exclude each other",
    pattern: /`(?<beside>\w+)` and `(?<field>\w+)` cannot both be specified/gi,
    isUnknown: false,
    source: "https://github.com/BerriAI/litellm/issues/15097",
  },
  {
    provider: "Moonshot, Ollama",
    pattern: anywhere`\binvalid ${PATH}(?: value)?: `,
    isUnknown: false,
    source: "https://github.com/Warma10032/VideoAdGuard/issues/34",
  },
  {
    provider: "Groq and LM Studio, about a value",
    pattern: anywhere`${QUOTE}${PATH}${QUOTE} must be `,
    isUnknown: false,
    source: "https://github.com/vercel/ai/issues/10023",
  },
  {
    provider: "any, in a sentence",
    pattern:
      anywhere`(?:^|[\s:(])${QUOTE}?${PATH}${QUOTE}? (?:(?:parameter|field) )?(?:is|are) (?:not supported|unsupported|deprecated|not allowed|not permitted)(?! to\b)`,
    isUnknown: true,
    source: "https://github.com/vercel/ai/pull/8057",
  },
];

/** The words before a list of accepted values, and the list. */
const ACCEPTED_REGEXP =
  /(?:(?:supported|valid|allowed|accepted) (?:values|levels|options)(?: are)?|expected(?: one of)?|must be(?: one of)?|should be(?: one of)?)[: ]+(?<list>[^.;\n{}]{1,200})/gi;

/** The words with which a list of accepted values has ended. */
const LIST_END_REGEXP = /\b(?:received|got|but|input|at line|with)\b/i;

/** The forms of a refused value. */
const VALUE_REGEXPS: readonly RegExp[] = [
  /does not support ["'`](?<value>[\w-]{1,32})["'`]/gi,
  /unsupported value: ["'`](?<value>[\w-]{1,32})["'`] is not/gi,
  /unknown (?:variant|role):? ["'`]?(?<value>[\w-]{1,32})/gi,
  /(?:received|got|'input':) ["'`](?<value>[\w-]{1,32})["'`]/gi,
  /\blevel "(?<value>[\w-]{1,32})" not supported/gi,
  /\binvalid [\w.]{1,64}: ["'`]?(?<value>[\w-]{1,32})["'`]?(?:$|[\s.,(])/gi,
];

/** The words with which an error concerns a model, or an account, whatever the value of the field. */
const FOR_ALL_REGEXP =
  /\b(?:this|the|the ['"`][^'"`]{1,100}['"`]) model\b|only the default|only [\d.]+ is allowed|must be verified/i;

/** The words about a value that is out of its bounds, which another caller's may keep. */
const BOUNDS_REGEXP =
  /[<>]=?|\b(?:less|greater|more|fewer) than\b|\bat (?:most|least)\b|\bbetween\b|\babove\b|\bbelow\b|\bexceeds?\b|\btoo \w+|\b(?:max|min)imum\b|\brange\b/i;

/**
 * The forms of a limit that is too high: Anthropic (https://github.com/OpenHands/OpenHands/issues/11090), DeepSeek
 * (https://github.com/deepseek-ai/DeepSeek-V3/issues/69).
 */
const LIMIT_REGEXP =
  /max_tokens: \d+ > (?<first>\d{2,7}), which is the maximum|range of max_tokens is \[\d+, ?(?<second>\d{2,7})\]/i;

/** The longest message that is read. No error about a field is as long, even one that names a hundred of them. */
const MAX_LENGTH = 16_000;

/** The most fields of one error. */
const MAX_FIELDS = 16;

/**
 * Returns the fields that an error refuses, as far as it names them in one of the {@linkcode FIELD_FORMS}, or with
 * `param`. The text is the provider's, so that a name may be anything.
 */
export function refusedFields(
  { message, param }: {
    readonly message: string;
    readonly param?: string | undefined;
  },
): RefusedFields {
  if (message.length > MAX_LENGTH) return NOTHING;
  const named = FIELD_FORMS.flatMap(({ pattern, isUnknown }) =>
    [...message.matchAll(pattern)].slice(0, MAX_FIELDS).map(({ groups }) => ({
      path: [...stepsOf(groups?.at), ...stepsOf(groups?.field)],
      isUnknown,
      beside: groups?.beside,
    }))
  );
  const limit = LIMIT_REGEXP.exec(message)?.groups;
  const most = limit?.first ?? limit?.second;
  return {
    isForAll: FOR_ALL_REGEXP.test(message) && !BOUNDS_REGEXP.test(message),
    maxTokens: most === undefined ? undefined : Number(most),
    fields: fieldsOf(stepsOf(param), named),
    accepted: [...message.matchAll(ACCEPTED_REGEXP)]
      .flatMap(({ groups }) => wordsOf(groups?.list)),
    refused: VALUE_REGEXPS.flatMap((pattern) =>
      [...message.matchAll(pattern)].flatMap(({ groups }) =>
        groups?.value?.toLowerCase() ?? []
      )
    ),
  };
}

const NOTHING: RefusedFields = {
  fields: [],
  accepted: [],
  refused: [],
  isForAll: false,
  maxTokens: undefined,
};

/** Returns the fields, the error's own `param` first. It alone counts when it is a path into the conversation. */
function fieldsOf(
  param: readonly string[],
  named: readonly RefusedField[],
): readonly RefusedField[] {
  if (param.length === 0) return named.slice(0, MAX_FIELDS);
  const isUnknown = named.some(({ path, isUnknown }) =>
    isUnknown && path.join() === param.join()
  );
  const own = { path: param, isUnknown };
  const isInside = param.length > 1 ||
    ["messages", "input", "system", "contents"].includes(param[0] ?? "");
  const others = named.filter(({ path }) =>
    !isInside || path.length === 1 && isSchema(param)
  );
  return [own, ...others].slice(0, MAX_FIELDS);
}

/** Returns true for the path of a schema. The message then names the refused keyword alone. */
function isSchema(path: readonly string[]): boolean {
  return path.some((step) =>
    step === "parameters" || step.endsWith("schema") || step === "format"
  );
}

/** Returns the steps of a path without indexes and without the name of the body. */
export function stepsOf(path = ""): readonly string[] {
  const steps = path.split(/[^\w$-]+/).filter((step) =>
    step !== "" && !/^\d+$/.test(step)
  );
  return ROOTS.includes(steps[0] ?? "") ? steps.slice(1) : steps;
}

/** Names of the whole body at the start of a path. */
const ROOTS = ["body", "request"];

function wordsOf(list = ""): readonly string[] {
  const [words = ""] = list.split(LIST_END_REGEXP, 1);
  return words.toLowerCase().match(/[\w-]{1,32}/g) ?? [];
}
