/**
 * A product of concatenated blocks in one function, and views that only broadcast (`x.expand(..)`) made in others or on a
 * branch: the product is split where it stands into a sum over the blocks, which broadcasts by itself, and the blocks are
 * handed over as they were before they were expanded. Callers that hand over full blocks get what they got. IKB101.
 */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, childOf, enclosing, statementOf, textOf, lineOf } from '../python/syntax';
import { readFree } from './blocks';
import { type Given, callsTo, holderOf, parametersOf } from './calls-to';
import { type Written, splitInto } from './decompose';
import { type Edit, flat, removeStatement, replace } from './edit';
import { argument, callOf, integer, isSimple, sizes, unwrap } from './expression';
import { isSizeOf } from './full-rows';
import { asWide } from './conditions';
import { apartFrom, conditionsOf } from './guards';
import { type Definition, definitionOf, isBinding, isMutation, occurrences, readersOf } from './names';
import { productOf } from './product';
import { draftFor } from './producers';
import { refuse } from './refusal';
import { isPlainModule } from './lift';
import { type Replicate, replicateOf } from './replicate';
import { requireUntouched } from './surgery';

export function splitInPlace(match: Match): Written {
  const { sink, origin } = match;
  const callee = enclosing(sink.node, 'function_definition');
  if (!callee || origin.file !== sink.node.file || sink.kind !== 'linear' || replicateOf(origin)?.kind !== 'expand')
    refuse(apartFrom(match));
  const owner = enclosing(callee, 'class_definition');
  if (callee.parent?.kind === 'decorated_definition' || (owner && !isPlainModule(owner))) refuse(apartFrom(match));
  const product = productOf(match);
  const draft = draftFor(sink.node);
  const { concatenation, operands } = readFree(match, draft);
  const branches = operands.flatMap((operand) => dropsOnBranches(callee, operand));
  // Some block must have all rows, whichever branches run.
  if (new Set(branches.map(({ operand }) => operand)).size === operands.length) refuse(apartFrom(match));
  const calls = callsTo(callee).flatMap((call) => dropsAt(call, callee, operands, branches));
  const drops = [...branches, ...calls];
  if (!drops.some(({ replicate }) => contains(replicate.node, origin))) refuse(apartFrom(match));
  for (const { replicate } of drops) requireGradients(replicate, sink.node);
  const short = new Set(drops.map(({ operand }) => operand));
  const parts = concatenation.parts.map((part, i) => {
    const operand = operands[i];
    return { ...part, alone: operand !== undefined && short.has(textOf(operand)) };
  });
  const written = splitInto(match, product, draft, { ...concatenation, parts });
  return {
    edits: [...written.edits, ...new Map(drops.map(({ edit }) => [edit.start, edit])).values()],
    conditions: [...written.conditions, ...drops.flatMap(widthOf), ...conditionsOf(match)],
  };
}

/** Under `no_grad` a view takes no gradient; what it is a view of, by its own name, still does. */
function requireGradients({ node, source, suffix }: Replicate, sink: Node): void {
  if (!isSimple(source) || suffix !== '') return;
  for (let at = enclosing(node, 'with_statement'); at; at = at.parent && enclosing(at.parent, 'with_statement')) {
    const clause = at.children.find((one) => one.kind === 'with_clause');
    if (clause && !contains(at, sink) && /\b(no_grad|set_grad_enabled|inference_mode)\b/.test(textOf(clause)))
      refuse(`line ${lineOf(at)} says whether gradients flow to \`${flat(node)}\``);
  }
}

/** A last size that is written out may copy columns, too. */
function widthOf({ replicate }: Drop): readonly Condition[] {
  const last = replicate.arguments.at(-1);
  const kept = last !== undefined && callOf(replicate.node)?.method === 'expand' && integer(last) === -1;
  return kept ? [] : [asWide(flat(replicate.source))];
}

const contains = (outer: Node, inner: Node): boolean =>
  outer.file === inner.file && outer.start <= inner.start && inner.end <= outer.end;

/** An expanded view that is no longer made. */
interface Drop {
  /** Name of the operand of the concatenation that it becomes. */
  readonly operand: string;
  readonly replicate: Replicate;
  readonly edit: Edit;
}

/** A view that only broadcasts: of a name, or of a view of one. */
function broadcastOf(value: Node): Replicate | null {
  const replicate = replicateOf(value);
  return replicate?.kind === 'expand' && replicate.node === unwrap(value) ? replicate : null;
}

/** `x = x.expand(-1, n, -1)` in a branch of the function, where only the concatenation reads it. */
function dropsOnBranches(callee: Node, operand: Node): readonly Drop[] {
  if (operand.kind !== 'identifier') return [];
  const name = textOf(operand);
  return occurrences(callee, name).flatMap((binding): readonly Drop[] => {
    const definition = assignmentOf(binding);
    const replicate = definition && broadcastOf(definition.value);
    if (!definition || !replicate || readersOf(definition, name).some((reader) => reader !== operand)) return [];
    const { statement } = definition;
    const idle = textOf(replicate.source) === name && replicate.suffix === '';
    const alone = statement.parent?.kind === 'block' && statement.parent.children.length === 1;
    if (idle && alone) return [];
    const text = textOf(replicate.source) + replicate.suffix;
    return [{ operand: name, replicate, edit: idle ? removeStatement(statement) : replace(replicate.node, text) }];
  });
}

function assignmentOf(binding: Node): Definition | null {
  const { parent } = binding;
  if (!isBinding(binding) || parent?.kind !== 'assignment' || binding.field !== 'left') return null;
  const value = childOf(parent, 'right');
  const statement = statementOf(binding);
  return value && parent.parent === statement ? { statement, value } : null;
}

/** What a call need no longer expand. */
function dropsAt(call: Given, callee: Node, operands: readonly Node[], branches: readonly Drop[]): readonly Drop[] {
  const names = operands.map(textOf);
  const given = names.flatMap((name) => {
    const value = call.given.get(name);
    return value ? [{ name, value, ...viewOf(value) }] : [];
  });
  let views = given.flatMap(({ name, value, replicate, definition }) =>
    replicate ? [{ name, value, replicate, definition }] : [],
  );
  // One view may be expanded to the size of another: both go, or neither.
  for (let count = -1; count !== views.length;) {
    count = views.length;
    const kept = views;
    views = kept.filter(({ value, definition }) => {
      if (!definition) return true;
      const readers = readersOf(definition, textOf(value));
      return readers.every(
        (reader) => reader === value || kept.some(({ replicate }) => contains(replicate.node, reader)),
      );
    });
  }
  if (views.length === 0) return [];
  requireOwnCall(call, callee);
  const dropped = views.map(({ name }) => name);
  const skipped = branchesSkippedBy(call, callee);
  for (const name of dropped) requireOnlyRead(callee, name, operands, skipped);
  // What is expanded on a branch is expanded to what is not expanded itself.
  const clash = branches.find(
    ({ operand, replicate }) =>
      dropped.some((name) => name !== operand) && !skipped.some((one) => contains(one, replicate.node)),
  );
  if (clash) refuse(`line ${lineOf(clash.replicate.node)} copies another block of the same product`);
  if (dropped.length === names.length) requireAllRows(views);
  return views.map(({ name, replicate }) => ({
    operand: name,
    replicate,
    edit: replace(replicate.node, textOf(replicate.source) + replicate.suffix),
  }));
}

/** Refuses where something else than the function may be called here. */
function requireOwnCall({ node }: Given, callee: Node): void {
  const [call, around, owner] = [
    callOf(node),
    enclosing(node, 'class_definition'),
    enclosing(callee, 'class_definition'),
  ];
  const holder = call && holderOf(call, callee);
  if (!owner || !around || !holder) return;
  if (holder !== 'self') requireUntouched(node.file, '', holder, [around]);
  if (call.name !== holder) requireUntouched(node.file, '', `self.${call.method}`, [owner]);
}

interface View {
  readonly replicate: Replicate | null;
  readonly definition: Definition | null;
}

/** The view that an argument is, or that the name it is was assigned. */
function viewOf(value: Node): View {
  if (value.kind !== 'identifier') return { replicate: broadcastOf(value), definition: null };
  const definition = definitionOf(value);
  return { replicate: definition && broadcastOf(definition.value), definition };
}

/** `if start is not None:` where the call does not say what `start` is, its default is None, and it is bound nowhere else. */
function branchesSkippedBy(call: Given, callee: Node): readonly Node[] {
  const unsaid = parametersOf(callee).filter(({ name, value }) => value === 'None' && !call.given.has(name));
  return unsaid.flatMap(({ name }) => {
    const uses = occurrences(callee, name);
    const bodies = uses.flatMap((one) => {
      const around = enclosing(one, 'if_statement');
      const body = around && childOf(around, 'consequence');
      const condition = around && childOf(around, 'condition');
      return body && condition && textOf(condition) === `${name} is not None` ? [body] : [];
    });
    const bound = uses.filter((one) => isBinding(one) && !enclosing(one, 'parameters'));
    return bound.every((one) => bodies.some((body) => contains(body, one))) ? bodies : [];
  });
}

/** Refuses where the function does more with a parameter than to concatenate it, on the way that the call takes. */
function requireOnlyRead(callee: Node, name: string, operands: readonly Node[], skipped: readonly Node[]): void {
  for (const one of occurrences(callee, name)) {
    if (operands.includes(one) || enclosing(one, 'parameters') || skipped.some((body) => contains(body, one))) continue;
    const { parent } = one;
    const compared = parent?.kind === 'comparison_operator' && /^\w+ is (not )?None$/.test(textOf(parent));
    const width =
      parent?.kind === 'attribute' && /^\w+\.(shape\[-1\]|size\(-1\))$/.test(textOf(parent.parent ?? parent));
    if (compared || width) continue;
    refuse(`line ${lineOf(one)} ${isMutation(one) || isBinding(one) ? 'changes' : 'reads'} \`${name}\` too`);
  }
}

/** Every block is expanded at this call: each along axes of its own, to the size that another one has there. */
function requireAllRows(
  views: readonly { readonly name: string; readonly value: Node; readonly replicate: Replicate }[],
): void {
  const axes = views.map(({ replicate }) => axesOf(replicate));
  views.forEach(({ value }, i) => {
    for (const { axis, size, other } of axes[i] ?? []) {
      const full = views.some((one, j) => {
        if (j === i || (axes[j] ?? []).some((own) => own.axis === axis)) return false;
        if (other !== null) return textOf(one.value) === other;
        const source = rootOf(one.replicate.source);
        return size !== null && source !== null && isSizeOf(size, source.name, axis - source.before(axis));
      });
      if (!full) refuse(`\`${flat(value)}\` is not known to be copied to the size of another block of the product`);
    }
  });
}

interface Axis {
  /** From the front. */
  readonly axis: number;
  readonly size: Node | null;
  /** The tensor of whose size it is made. */
  readonly other: string | null;
}

/** The axes along which a view is expanded, from the front. */
function axesOf(replicate: Replicate): readonly Axis[] {
  const call = callOf(unwrap(replicate.node));
  if (call?.method === 'expand_as') {
    const source = rootOf(replicate.source);
    const other = argument(call, 0, 'other');
    if (!other || other.kind !== 'identifier' || !source || source.raised === null)
      return refuse(`the axes along which \`${flat(replicate.node)}\` copies cannot be counted`);
    return [{ axis: source.raised, size: null, other: textOf(other) }];
  }
  const list = call ? sizes(call.positional) : null;
  if (call?.method !== 'expand' || !list)
    return refuse(`the axes along which \`${flat(replicate.node)}\` copies cannot be counted`);
  return list.flatMap((size, axis) => (integer(size) === -1 ? [] : [{ axis, size, other: null }]));
}

interface Root {
  readonly name: string;
  /** The axis that is put in for the copies. */
  readonly raised: number | null;
  /** How many axes in front of one are not the name's own. */
  readonly before: (axis: number) => number;
}

/** `x` of `x` and of `x.unsqueeze(2)`. */
function rootOf(source: Node): Root | null {
  const node = unwrap(source);
  if (node.kind === 'identifier') return { name: textOf(node), raised: null, before: () => 0 };
  const call = callOf(node);
  const raised = call?.method === 'unsqueeze' ? integer(argument(call, 0, 'dim')) : null;
  if (!call?.receiver || call.receiver.kind !== 'identifier' || raised === null || raised < 0) return null;
  return { name: textOf(call.receiver), raised, before: (axis) => Number(axis > raised) };
}
