import { suggestion } from "../../config/problems.ts";
import { wrapWords } from "../text.ts";
import {
  isServiceName,
  SERVICE_NAMES,
  type ServiceName,
  SERVICES_BY_KIND,
} from "../../config/services.ts";
import { starterFile } from "../../config/starter.ts";
import { readArguments } from "../arguments.ts";
import {
  badArguments,
  type CliIo,
  type CommandSpec,
  EXIT,
} from "../command.ts";

/** The width of a line of help, in characters. */
const HELP_COLUMNS = 88;

/** The arguments and the help of `init`. */
export const INIT: CommandSpec = {
  name: "init",
  operands: "SERVICE...",
  words: SERVICE_NAMES,
  summary: "print a first gateway.yaml, with comments, for the named services",
  options: [],
  details: [servicesText()],
};

/**
 * `init SERVICE...`: prints a first configuration for the named services.
 *
 * @returns The exit code.
 */
export function runInit(args: readonly string[], io: CliIo): number {
  const read = readArguments(INIT, args);
  if ("fault" in read) return badArguments(read.fault, INIT, io);
  const services: ServiceName[] = [];
  for (const name of read.operands) {
    if (!isServiceName(name)) {
      const hint = suggestion(name, SERVICE_NAMES);
      return badArguments(`there is no service ${name}${hint}`, INIT, io);
    }
    if (services.includes(name)) {
      const fault =
        `${name} is named twice. Name it once and copy its connection in the file`;
      return badArguments(fault, INIT, io);
    }
    services.push(name);
  }
  if (services.length === 0) {
    return badArguments(`no service is named.\n${servicesText()}`, INIT, io);
  }
  io.write(starterFile(services));
  return EXIT.good;
}

/** Returns the names of all services by kind, in lines of the help's width. */
function servicesText(): string {
  const lines = Object.entries(SERVICES_BY_KIND).flatMap(([kind, names]) => [
    `  ${kind}:`,
    ...wrapWords(`    ${names.join(", ")}`, HELP_COLUMNS),
  ]);
  return ["The services are:", ...lines].join("\n");
}
