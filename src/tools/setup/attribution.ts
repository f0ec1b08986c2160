import { PROVIDER_ID, type Snippet } from "@gateway/page/wording";

/**
 * The environment variable that holds the value of the header. The printed settings set the variable to the name of the
 * git repository.
 */
const PROJECT = "PROJECT";

const RECIPE =
  `export ${PROJECT}="$(basename "$(git rev-parse --show-toplevel)")"`;

/**
 * The settings with which clients add a header to their requests:
 *
 * - `ANTHROPIC_CUSTOM_HEADERS`: code.claude.com/docs/en/env-vars
 * - `env_http_headers`: developers.openai.com/codex/config-reference
 * - `headers` of a provider's options: opencode.ai/docs/providers
 */
const SETTINGS: Readonly<Record<string, (header: string) => string>> = {
  claude: (header) =>
    `${RECIPE}\nexport ANTHROPIC_CUSTOM_HEADERS="${header}: $${PROJECT}"`,
  codex: (header) =>
    `# in [model_providers.${PROVIDER_ID}]\nenv_http_headers = { "${header}" = "${PROJECT}" }\n\n# in the shell\n${RECIPE}`,
  opencode: (header) =>
    `# in provider.${PROVIDER_ID}.options\n"headers": { "${header}": "{env:${PROJECT}}" }\n\n# in the shell\n${RECIPE}`,
  "openai-python": python,
  "anthropic-python": python,
  "openai-js": javaScript,
  "anthropic-js": javaScript,
  curl: (header) =>
    `${RECIPE}\n# one more option of curl\n-H "${header}: $${PROJECT}"`,
};

function python(header: string): string {
  return `# one more argument of the client\ndefault_headers={"${header}": "billing"}`;
}

function javaScript(header: string): string {
  return `// one more option of the client\ndefaultHeaders: { "${header}": "billing" }`;
}

/**
 * Returns the settings with which a client sends a header of `server.attribution`; `undefined` for a client whose
 * settings are not known.
 */
export function attributionSnippet(
  clientId: string,
  header: string,
): Snippet | undefined {
  const settings = SETTINGS[clientId];
  return settings &&
    { title: `The header ${header}, for the log`, text: settings(header) };
}
