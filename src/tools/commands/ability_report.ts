import { isMapping } from "@gateway/base/problems";
import { PROTOCOLS } from "@gateway/base/protocol";
import { ABILITY_ROWS, CODECS } from "@gateway/codecs";
import type {
  Config,
  Connection,
  ConnectionModel,
} from "@gateway/gateway/config";

/** A model that no row of the codecs knows. */
const UNKNOWN_MODEL = "-";

/**
 * Returns what the providers of a model take of translated requests: a line for each field, with the source of its
 * value. The sources are the protocol, the service, the model, and the file.
 */
export function abilityReport({ connections }: Config, id: string): string {
  return connections.filter(({ enabled }) => enabled)
    .flatMap((connection) =>
      connection.models.filter((model) => model.id === id)
        .flatMap((model) => deploymentLines(connection, model))
    ).map((line) => `${line}\n`).join("");
}

function deploymentLines(
  connection: Connection,
  model: ConnectionModel,
): readonly string[] {
  const { name, service, endpoints } = connection;
  const rows = [connection.ability, model.ability];
  return PROTOCOLS.filter((protocol) => endpoints[protocol] !== undefined)
    .flatMap((protocol) => {
      const fieldsAt = (target: { service: string; model: string }) =>
        fieldsOf(CODECS[protocol].ability({ ...target, endpoints }));
      const known = { service, model: model.upstream };
      const levels = [
        ["protocol", fieldsAt({ service: "custom", model: UNKNOWN_MODEL })],
        ["service", fieldsAt({ service, model: UNKNOWN_MODEL })],
        ["model", fieldsAt(known)],
        [
          "file",
          fieldsOf(
            CODECS[protocol].ability({ ...known, endpoints, ability: rows }),
          ),
        ],
      ] as const;
      const [, , , [, effective]] = levels;
      const lines = [...effective].map(([field, value]) => {
        const source = levels.findLast(([, fields], at) =>
          at === 0 || fields.get(field) !== levels[at - 1]?.[1].get(field)
        );
        return `  ${field}: ${value} (${source?.[0]})`;
      });
      return [`${name}, ${model.upstream}, ${protocol}:`, ...lines];
    });
}

/** Returns the fields that a file may set, by their names in the file, with their values as texts. */
function fieldsOf(ability: object): ReadonlyMap<string, string> {
  const groups = new Map<string, unknown>(Object.entries(ability));
  return new Map(
    Object.entries(ABILITY_ROWS.fields).flatMap(([name, entry]) => {
      const value = groups.get(name);
      if (!("fields" in entry)) return [[inFile(name), textOf(value)]];
      return Object.keys(entry.fields).map((field): [string, string] => [
        `${inFile(name)}.${inFile(field)}`,
        textOf(isMapping(value) ? value[field] : undefined),
      ]);
    }),
  );
}

function inFile(name: string): string {
  return name.replaceAll(/[A-Z]/g, "_$&").toLowerCase();
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.join(", ")}]`;
  if (value === undefined) return "not set";
  return value === Infinity ? "no limit" : String(value);
}
