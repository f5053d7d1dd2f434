/** What stands against every rewrite of a match, and what makes it a suggestion. */
import { joinedAlong } from '../judge/joined';
import type { Condition } from '../finding';
import type { Match, ReplicaFact } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import { NAME, patternOf } from '../python/words';
import { MANY_EDGES, assumed, expectsNoError, holdsRowNumbers, manyMoreEntries, nobodyReads } from './conditions';
import { type Edit, flat, shortly } from './edit';
import { effectIn } from './effects';
import { callOf } from './expression';
import { isBinding, occurrences } from './names';
import { conditionsOfRank } from './ranks';
import { refuse } from './refusal';
import type { Replicate } from './replica';
import { isEndOfEdge } from './replicate';
import { requirePlainLibrary } from './surgery';

/** Refuses what no rewrite may touch. `inPlace`: the product is rewritten for every way that leads to it. */
export function requireEditable(match: Match, acrossFunctions: boolean, inPlace = false): void {
  const { facts } = match;
  if (facts.syntaxErrors.length > 0) refuse(`line ${facts.syntaxErrors[0]} has a syntax error`);
  if (statementOf(match.origin).broken || statementOf(match.sink.node).broken)
    refuse('the statement has a syntax error');
  requirePlainLibrary(match.sink.node.file);
  const reader = namesReader(match.sink.node);
  if (reader) refuse(`line ${lineOf(reader)} may read variables by their names (\`${shortly(reader)}\`)`);
  const { keyword } = match.sink;
  if (keyword) refuse(`what \`${calleeOf(match)}\` does with its \`${keyword}\` behind its first layer is not known`);
  if (match.takenOut)
    refuse('the copies are joined with other rows on the way and taken out again, where a smaller tensor does not fit');
  const axis = match.code === 'IKB102' && match.minor ? joinedAlong(match) : null;
  if (axis !== null)
    refuse(
      `whether axis ${axis}, along which the copies are joined with others, is one of rows or the last one is not known`,
    );
  if (match.code === 'IKB102' && match.minor)
    refuse('the copies are rows among others that the layer reads: to multiply them apart would take those apart, too');
  if (match.code === 'IKB304' && isEndOfEdge(match.origin))
    refuse(
      `\`${shortly(match.origin)}\` is gathered by the graph library: to project the nodes first, what is handed to it must change`,
    );
  // The parameter of a message function stands for its copies.
  if (match.code === 'IKB304' && match.origin.kind === 'identifier')
    refuse(
      `\`${textOf(match.origin)}\` is gathered before ${functionName(match.origin) ?? 'this function'} is called: to project the nodes first, what is handed to the graph library must change`,
    );
  if ((acrossFunctions || inPlace) && !match.local) return;
  if (!match.local) refuse(elsewhere(match));
  const [copied, multiplied] = [lineOf(match.origin), lineOf(match.sink.node)];
  if (facts.apart === 'loop') {
    const inLoop = loopAround(match.sink.node, match.origin);
    refuse(
      inLoop && match.first
        ? `only the first pass of the loop of line ${lineOf(inLoop)} multiplies the copy of line ${copied}`
        : inLoop
          ? `the loop of line ${lineOf(inLoop)} multiplies the copy of line ${copied} again and again`
          : `the copy of line ${copied} is made in a loop, or a function, that line ${multiplied} stands behind`,
    );
  }
  if (facts.apart && !inPlace) refuse(apartFrom(match));
  const grad = gradModeBetween(match);
  if (grad) refuse(`line ${lineOf(grad)} turns gradients on again between the copy and the product`);
  const [write] = facts.inPlace;
  if (write) refuse(`\`${write.name}\` is written in place at line ${write.line}, between the copy and the product`);
  const [effect] = facts.effects.filter((node) => !isHarmless(node));
  if (effect) refuse(`line ${lineOf(effect)} may have side effects between the copy and the product`);
}

/** Why a copy that is made in another function, or on a branch, is not moved behind the product. */
export function apartFrom(match: Match): string {
  if (!match.local) return elsewhere(match);
  const [copied, multiplied] = [lineOf(match.origin), lineOf(match.sink.node)];
  const [own] = testsAround(match.origin);
  return own !== undefined && testsAround(match.sink.node).includes(own)
    ? `lines ${copied} and ${multiplied} stand under one condition, but in blocks apart`
    : `the copy of line ${copied} is made on a branch that line ${multiplied} does not stand on`;
}

/** The conditions of the `if` statements around a node, the innermost first. */
function testsAround(node: Node): readonly string[] {
  const around = enclosing(node, 'if_statement');
  const test = around && childOf(around, 'condition');
  return around ? [...(test ? [flat(test)] : []), ...(around.parent ? testsAround(around.parent) : [])] : [];
}

/** `self.model.bert`, as it is called. */
const calleeOf = ({ sink }: Match): string => {
  const call = callOf(sink.node);
  return call ? flat(call.callee) : shortly(sink.node);
};

/** Where the product of a copy stands that is not of its function. */
function elsewhere({ origin, sink }: Match): string {
  const file = sink.node.file === origin.file ? '' : ` of ${sink.node.file.path}`;
  const [maker, reader] = [functionName(origin), functionName(sink.node)];
  const branched = nameOnBranch(origin);
  if (branched) {
    const place = `${reader ?? 'the file'} (line ${lineOf(sink.node)}${file})`;
    return `\`${branched}\` is a copy on the branch of line ${lineOf(origin)} only, and ${place} multiplies what comes from all of them`;
  }
  const names = `made in ${maker ?? 'the file'} and multiplied in ${reader ?? 'the file'}`;
  return `the copy is ${names} (line ${lineOf(sink.node)}${file}), and the calls between them are in no form that is rewritten`;
}

/** The name that holds the copy, where it stands in an `if` and other statements give that name a value, too. */
function nameOnBranch(origin: Node): string | null {
  const statement = statementOf(origin);
  const [assignment] = statement.kind === 'expression_statement' ? statement.children : [];
  const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
  if (
    left?.kind !== 'identifier' ||
    !/^(if_statement|else_clause|elif_clause)$/.test(statement.parent?.parent?.kind ?? '')
  )
    return null;
  const bindings = occurrences(scopeOf(origin), textOf(left)).filter(isBinding);
  // On the same branch, it is what became of the copy.
  return bindings.some((one) => statementOf(one).start > (statement.parent ?? statement).end) ? textOf(left) : null;
}

/** `Attention.forward` */
function functionName(node: Node): string | null {
  const callee = enclosing(node, 'function_definition');
  const owner = callee && enclosing(callee, 'class_definition');
  const names = [owner, callee].flatMap((one) => (one ? (childOf(one, 'name') ?? []) : []));
  return names.length > 0 ? `\`${names.map(textOf).join('.')}\`` : null;
}

/** A loop around `node` that `outside` is not in. */
function loopAround(node: Node, outside: Node): Node | null {
  for (let at = node.parent; at; at = at.parent) {
    if (at.start <= outside.start && outside.end <= at.end) return null;
    if (at.kind === 'for_statement' || at.kind === 'while_statement') return at;
  }
  return null;
}

/** A call in the functions around `node` that sees its variables by their names: `locals()`, `eval(..)`. */
function namesReader(node: Node): Node | null {
  const top = topFunction(node);
  return (
    ['locals', 'vars', 'dir', 'eval', 'exec']
      .flatMap((name) => (top ? occurrences(top, name) : []))
      .map((name) => name.parent)
      .find((call): call is Node => {
        const read = call ? callOf(call) : null;
        const ofObject = read !== null && /^(vars|dir)$/.test(read.name) && read.positional.length > 0;
        return read !== null && !read.receiver && !ofObject;
      }) ?? null
  );
}

/** The outermost function around a node. */
function topFunction(node: Node): Node | null {
  let top: Node | null = null;
  for (let at: Node | null = node; at; at = at.parent) if (at.kind === 'function_definition') top = at;
  return top;
}

/** A `with` around the product, but not around the copy, under which gradients may flow again. */
function gradModeBetween({ origin, sink }: Match): Node | null {
  for (let at = enclosing(sink.node, 'with_statement'); at; at = at.parent && enclosing(at.parent, 'with_statement')) {
    if (at.start <= origin.start && origin.end <= at.end) return null;
    const clause = at.children.find((c) => c.kind === 'with_clause');
    if (clause && /\b(enable_grad|set_grad_enabled|inference_mode)\b/.test(textOf(clause))) return at;
  }
  return null;
}

const isHarmless = (statement: Node): boolean =>
  /^(print|assert|log|logger|logging|warnings)\b/.test(textOf(statement));

/** Conditions that the judge could not prove; each caps the tier at `suggestion`. */
export function conditionsOf(match: Match): readonly Condition[] {
  const conditions = [...match.facts.assumptions.map(assumed), ...(match.facts.needs ?? [])];
  const named = match.replicas.find((replica) => replica.evidence === 'named');
  // Many edges to a node say the same.
  if (named && match.code !== 'IKB304') conditions.push(manyMoreEntries(named.mapText ?? 'the index'));
  const attempt = attemptAround(match.sink.node);
  if (attempt) conditions.push(expectsNoError(attempt.word, lineOf(attempt.node)));
  if (match.code === 'IKB304') conditions.push(MANY_EDGES);
  return conditions;
}

/** A `try` around the product, or a `with suppress(..)`, that goes on where sizes do not match. */
function attemptAround(node: Node): { readonly node: Node; readonly word: string } | null {
  const scope = scopeOf(node);
  for (let at = node.parent; at && at !== scope; at = at.parent) {
    if (at.kind === 'try_statement' && catchesSizes(at)) return { node: at, word: 'try' };
    const clause = at.kind === 'with_statement' ? at.children.find((one) => one.kind === 'with_clause') : undefined;
    const word = clause && /\b(suppress|ignored?|raises|assertRaises\w*)\(/.exec(textOf(clause))?.[1];
    if (word) return { node: at, word };
  }
  return null;
}

/** PyTorch raises a RuntimeError for sizes that do not match. */
const catchesSizes = (attempt: Node): boolean =>
  attempt.children.some(
    (one) => one.kind === 'except_clause' && /^except\s*(:|[^:]*\b(RuntimeError|(Base)?Exception)\b)/.test(textOf(one)),
  );

/** What must hold for ikbo_lens to be given a copy's map: the small tensor's axes, and row numbers for an index. */
export function conditionsOfMap(replicate: Replicate, replicas: readonly ReplicaFact[]): readonly Condition[] {
  const [index] = replicate.arguments;
  const named = replicate.kind === 'index' && index && replicas.some((replica) => replica.evidence === 'named');
  return [...conditionsOfRank(replicate), ...(named ? [holdsRowNumbers(flat(index))] : [])];
}

/** Where new statements may stand in front of the sink's statement: only if the sink then runs exactly once after them. */
export function canHoist(sink: Node): boolean {
  const statement = statementOf(sink);
  if (statement.kind !== 'expression_statement' && statement.kind !== 'return_statement') return false;
  if (runsBefore(statement, sink)) return false;
  const lazy = enclosing(
    sink,
    'lambda',
    'conditional_expression',
    'boolean_operator',
    'list_comprehension',
    'generator_expression',
    'set_comprehension',
    'dictionary_comprehension',
    'block',
    'module',
  );
  return lazy === null || lazy.kind === 'block' || lazy.kind === 'module';
}

/** Something in the sink's own statement that runs before the sink and may change what new statements would read. */
function runsBefore(statement: Node, sink: Node): boolean {
  for (let at = sink; at !== statement && at.parent; at = at.parent) {
    // The target of an assignment is evaluated after its value.
    const targets = at.parent.kind.endsWith('assignment');
    const earlier = targets ? [] : at.parent.children.filter((node) => node.end <= at.start);
    if (earlier.some((node) => effectIn(node) !== null)) return true;
  }
  return false;
}

const ASSIGNED = patternOf(`^[ \\t]*(${NAME})[ \\t]*=(?!=)`, 'u');

/** Variables of a module can be read from other files, and those of a notebook by whoever works in it. */
export function conditionsOfModule({ sink }: Match, edits: readonly Edit[]): readonly Condition[] {
  if (scopeOf(sink.node).kind !== 'module') return [];
  const { text } = sink.node.file;
  const own = statementOf(sink.node);
  const names = edits.flatMap(({ start, end }) => {
    if (start === end || (own.start <= start && end <= own.end)) return [];
    const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, end);
    const name = ASSIGNED(line).exec(line)?.[1];
    return name === undefined ? [] : [name];
  });
  return names.length > 0 ? [nobodyReads([...new Set(names)])] : [];
}
