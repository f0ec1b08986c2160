import { join } from "node:path";
import ts from "npm:typescript@6.0.3";
import { isJsonObject, type JsonValue } from "../../src/base/json.ts";
import { reference } from "./sample.ts";

/** Judges JSON values by the types of one declaration file. */
export interface TypeJudge {
  /**
   * Returns the problems of a value, each with its path and reason; empty if the value fits the type. Unknown fields
   * are allowed.
   */
  problems(type: string, value: JsonValue): readonly string[];
}

/**
 * Reads a declaration file. An optional field may be absent, but not `null` unless its type says so.
 *
 * @param folder The folder of the package.
 * @param file The declaration file, below the folder.
 * @throws {Error} By {@linkcode TypeJudge.problems}, when the file exports no such type.
 */
export function createTypeJudge(folder: string, file: string): TypeJudge {
  const path = join(folder, file);
  const program = ts.createProgram([path], {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es5.d.ts"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  const types = new Map(
    (module === undefined ? [] : checker.getExportsOfModule(module))
      .map((symbol) => [symbol.name, symbol]),
  );

  function check(type: ts.Type, value: JsonValue, at: string): string[] {
    const { flags } = type;
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return [];
    if (type.isUnion()) return checkUnion(type.types, value, at);
    const words = primitives(type);
    if (words !== undefined) {
      return words.includes(value) || words.includes(kindOf(value))
        ? []
        : [`${at}: ${show(value)} is no ${checker.typeToString(type)}`];
    }
    if (checker.isArrayType(type)) {
      if (!Array.isArray(value)) return [`${at}: ${show(value)} is no list`];
      const [item] = checker.getTypeArguments(reference(type));
      return value.flatMap((one, index) =>
        item === undefined ? [] : check(item, one, `${at}[${index}]`)
      );
    }
    if (!isJsonObject(value)) return [`${at}: ${show(value)} is no object`];
    const known = checker.getPropertiesOfType(type);
    const index = checker.getIndexInfosOfType(type)[0];
    const rest = index === undefined
      ? []
      : Object.keys(value).filter((name) =>
        !known.some((property) => property.name === name)
      ).flatMap((name) =>
        check(index.type, value[name] ?? null, `${at}.${name}`)
      );
    return [
      ...known.flatMap((property) => {
        const inner = value[property.name];
        const place = `${at}.${property.name}`;
        if (inner !== undefined) {
          return check(checker.getTypeOfSymbol(property), inner, place);
        }
        return property.flags & ts.SymbolFlags.Optional
          ? []
          : [`${place}: is missing`];
      }),
      ...rest,
    ];
  }

  /**
   * Returns the problems of the union's best fitting member. Only those with the value's own `type` count, if there are
   * any.
   */
  function checkUnion(
    members: readonly ts.Type[],
    value: JsonValue,
    at: string,
  ): string[] {
    const named = members.filter((one) => {
      const property = one.getProperty("type");
      return property !== undefined && isJsonObject(value) &&
        check(checker.getTypeOfSymbol(property), value.type ?? null, "")
            .length === 0;
    });
    const [best] = (named.length > 0 ? named : members)
      .map((one) => check(one, value, at))
      .toSorted((one, other) => one.length - other.length);
    return best ?? [];
  }

  return {
    problems(name, value) {
      const symbol = types.get(name);
      if (symbol === undefined) {
        throw new Error(`Cannot judge a ${name}: ${path} does not export it`);
      }
      return check(checker.getDeclaredTypeOfSymbol(symbol), value, name);
    },
  };
}

/** Returns the literals and the primitive names that a type accepts; `undefined` for other types. */
function primitives(type: ts.Type): readonly JsonValue[] | undefined {
  if (type.isIntersection()) {
    return type.types.map(primitives).find((one) => one !== undefined);
  }
  if (type.isStringLiteral() || type.isNumberLiteral()) return [type.value];
  const { flags } = type;
  if (flags & ts.TypeFlags.BooleanLiteral) {
    return ["intrinsicName" in type && type.intrinsicName === "true"];
  }
  if (flags & ts.TypeFlags.StringLike) return ["string"];
  if (flags & ts.TypeFlags.NumberLike) return ["number"];
  if (flags & ts.TypeFlags.Null) return [null];
  return flags & ts.TypeFlags.Undefined ? [] : undefined;
}

function kindOf(value: JsonValue): JsonValue {
  return typeof value === "string" || typeof value === "number"
    ? typeof value
    : value;
}

function show(value: JsonValue): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "nothing";
}
