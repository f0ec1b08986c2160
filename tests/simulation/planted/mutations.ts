import ts from "npm:typescript@6.0.3";
import type { Random } from "../../support/fakes/random.ts";
import type { Fault } from "./fault.ts";

/** A change of a source, by its place. */
interface Mutation {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly wrong: string;
}

/** Returns a random fault of a source; undefined if it has nothing to change. */
export function mutationOf(source: string, random: Random): Fault | undefined {
  const all = mutationsOf(source);
  if (all.length === 0) return undefined;
  // Each kind is as likely as any other, however many places it has.
  const kinds = [...Map.groupBy(all, ({ kind }) => kind).values()];
  return faultOf(source, random.pick(random.pick(kinds)));
}

/** Returns every mutation of a source. */
function mutationsOf(source: string): Mutation[] {
  const file = ts.createSourceFile(
    "source.ts",
    source,
    ts.ScriptTarget.Latest,
    true,
  );
  const found: Mutation[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return;
    found.push(...changesOf(node, file));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function* changesOf(
  node: ts.Node,
  file: ts.SourceFile,
): Iterable<Mutation> {
  const text = node.getText(file);
  const replace = (kind: string, wrong: string, of: ts.Node = node) => ({
    ...{ kind, wrong, start: of.getStart(file), end: of.getEnd() },
  });
  const condition = conditionOf(node);
  if (condition !== undefined) {
    const negated = `!(${condition.getText(file)})`;
    yield replace("negated condition", negated, condition);
  }
  if (ts.isBinaryExpression(node)) {
    const operator = OPPOSITES[node.operatorToken.getText(file)];
    if (operator !== undefined) {
      yield replace("off by one", operator, node.operatorToken);
    }
  }
  if (ts.isExpressionStatement(node)) {
    yield replace("removed statement", `void 0;${lines(text)}`);
  }
  if (ts.isAwaitExpression(node)) {
    yield replace("removed await", node.expression.getText(file));
  }
  if (ts.isNumericLiteral(node) && !ts.isEnumMember(node.parent)) {
    const value = Number(text.replaceAll("_", ""));
    yield replace("other constant", String(value === 0 ? 1 : value * 10));
    yield replace("off by one", String(value + 1));
  }
  if (
    node.kind === ts.SyntaxKind.TrueKeyword ||
    node.kind === ts.SyntaxKind.FalseKeyword
  ) yield replace("other constant", text === "true" ? "false" : "true");
  if (ts.isBlock(node) && isFunctionBody(node) && node.statements.length > 1) {
    const { pos } = node.statements;
    yield { kind: "early return", start: pos, end: pos, wrong: " return;" };
  }
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) {
    return node.expression;
  }
  return ts.isConditionalExpression(node) ? node.condition : undefined;
}

function isFunctionBody({ parent }: ts.Node): boolean {
  return ts.isFunctionLike(parent);
}

/** Each comparison or sum, with the one that is off by one. */
const OPPOSITES: Readonly<Record<string, string | undefined>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "&&": "||",
  "||": "&&",
};

/** Keeps the line numbers after it. */
function lines(text: string): string {
  return "\n".repeat(text.split("\n").length - 1);
}

/** Returns a mutation as a fault. Its text is long enough to occur once in the source. */
function faultOf(
  source: string,
  { kind, start, end, wrong }: Mutation,
): Fault {
  const line = source.slice(0, start).split("\n").length;
  const was = source.slice(start, end).replaceAll(/\s+/g, " ").slice(0, 60);
  let [from, to] = [start, end];
  while (source.split(source.slice(from, to)).length !== 2) {
    from = Math.max(0, from - 10);
    to = Math.min(source.length, to + 10);
  }
  return {
    name: `${kind} in line ${line}, ${was} → ${wrong.trim().slice(0, 60)}`,
    text: source.slice(from, to),
    wrong: source.slice(from, start) + wrong + source.slice(end, to),
  };
}
