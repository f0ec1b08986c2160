/**
 * Where the configuration is: `--config`, else `MODEL_GATEWAY_CONFIG`, else `gateway.yaml` in the
 * working directory.
 */
export function findConfigPath(
  { option, env }: {
    /** What `--config` says, if it is given. */
    readonly option: string | undefined;
    readonly env: (name: string) => string | undefined;
  },
): string {
  return option || env("MODEL_GATEWAY_CONFIG") || "gateway.yaml";
}
