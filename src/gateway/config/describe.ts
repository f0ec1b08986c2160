import { listAt, textAt, valueAt } from "@gateway/base/problems";
import { stringifyYaml } from "@gateway/base/yaml";
import { assignedModels } from "./assignment.ts";
import type { Access, Config, ServerConfig } from "./config.ts";
import { wholeFileSchema } from "./schema/config_file.ts";
import { shown } from "./schema/shown.ts";

/**
 * Returns a configuration as YAML for people: the options under the names of the file, the defaults, and what resolving
 * adds, such as the addresses of a service and the models of a token.
 *
 * Options that the schema marks as `secret` appear without their values. Any other text that contains a secret value is
 * hidden. URLs lose their user and query.
 *
 * @param loaded `written` is the tree of the file, with the entries of its included files.
 */
export function describeConfig(
  { config, written }: { readonly config: Config; readonly written: unknown },
): string {
  const secrets = new Set<string>();
  const resolved = resolvedView(config, written);
  // The first pass finds the secrets.
  shown(wholeFileSchema, { written, resolved, secrets });
  return stringifyYaml(
    shown(wholeFileSchema, { written, resolved, secrets }),
  );
}

/** Returns the place of the second listener in words. */
export function describeAdmin(admin: ServerConfig["admin"]): string {
  if (admin === undefined) return "none";
  return "port" in admin
    ? `${admin.host}, port ${admin.port}`
    : `${admin.host}, port of the gateway + ${admin.portOffset}`;
}

/** Returns what resolving adds, in the layout of the configuration file. The contents of named files are left out. */
function resolvedView(config: Config, written: unknown): unknown {
  const { server, shared, connections, callers, identity } = config;
  const limits = valueAt(written, ["defaults", "limits"]) ?? [];
  const callerByName = new Map(
    [...callers.values()].map((caller) => [caller.name, caller]),
  );
  return {
    ...config,
    server: { ...server, tls: undefined },
    shared: shared && { ...shared, ca: undefined },
    connections: listAt(written, "connections").map((entry) => {
      const name = textAt(entry, "name");
      return connections.find((one) =>
        (one.keyOf?.connection ?? one.name) === name
      );
    }),
    tokens: listAt(written, "tokens").map((entry) => {
      const caller = callerByName.get(textAt(entry, "name") ?? "");
      return caller && { ...caller, ...assigned(caller), limits };
    }),
    identity: identity.map(({ keys, rules, ...provider }) => ({
      ...provider,
      jwksUrl: keys.kind === "file" ? undefined : keys.url,
      rules: rules.map((rule) => ({ ...rule, ...assigned(rule), limits })),
    })),
  };

  /** Returns the names of the connections and models that a caller may use. A note replaces what groups give. */
  function assigned(access: Access) {
    const { inherited = [], connectionIds, groups } = access;
    const source = groups.length === 1 ? "of the group" : "of the groups";
    const names = connections.filter(({ id }) => connectionIds.has(id))
      .map(({ name }) => name);
    return {
      connections: inherited.includes("connections") ? source : names,
      models: inherited.includes("models")
        ? source
        : [...assignedModels(access, config).keys()],
    };
  }
}
