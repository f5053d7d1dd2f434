/**
 * A module whose forward (or other method) concatenates what it is given and multiplies: `self.critic(rows, actions)` of a class
 * that begins with `self.fc(torch.cat([states, actions], -1))`. Seen from the caller, the arguments are the blocks and the call is the product.
 */
import { guardsOf } from '../judge/guards';
import type { Match, Sink } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf } from '../python/syntax';
import { type Given, callsTo, holderOf, parametersOf } from './calls-to';
import { type Edit, flat, indentOf, lineEnd, replace } from './edit';
import { callOf, elements, isSimple, unwrap } from './expression';
import { canHoist } from './guards';
import { isPlainModule, leadsTo } from './lift';
import { definitionOf, occurrences, readersOf } from './names';
import { isText, returned, unusedIn } from './split-forward';
import { requireUntouched } from './surgery';
import { placesOf } from '../python/words';

/** The match as it looks from the call, or null where the forward does more, or other things first. */
export function liftConcatenation(match: Match): Match | null {
  const { sink, origin } = match;
  const callee = enclosing(sink.node, 'function_definition');
  const blocks = callee && blocksOf(callee, sink);
  if (!callee || !blocks || origin.file !== callee.file || !/^self\.\w+$/.test(sink.module?.text ?? '')) return null;
  const scope = scopeOf(origin);
  const calls = callsTo(callee).filter(
    (call) => scopeOf(call.node) === scope && blocks.some((name) => leadsTo(call.given.get(name), origin)),
  );
  const [call, ...more] = calls;
  const operands = call ? blocks.flatMap((name) => call.given.get(name) ?? []) : [];
  const called = call && callOf(call.node);
  const holder = called && holderOf(called, callee);
  if (!call || !called || !holder || more.length > 0 || operands.length !== blocks.length) return null;
  const behind = behindOf(callee, sink, blocks, call, holder);
  if (behind === null) return null;
  const owner = enclosing(callee, 'class_definition');
  if (owner && called.name !== holder) requireUntouched(callee.file, '', `self.${called.method}`, [owner]);
  const reached = (text: string): string => text.replace(/^self\b/, holder);
  const { module, weight, bias } = sink;
  return {
    ...match,
    local: true,
    sink: {
      ...sink,
      node: call.node,
      operands,
      weight: weight && reached(weight),
      bias: bias && reached(bias),
      module: module && {
        ...module,
        text: reached(module.text),
        own: module.text,
        through: holder === 'self' ? module.text : holder,
      },
      ...behind,
    },
    facts: { ...guardsOf(call.node, origin), assumptions: match.facts.assumptions },
  };
}

/** The parameters that a method concatenates, and does nothing else with, before it does anything else. */
function blocksOf(callee: Node, { node, input }: Sink): readonly string[] | null {
  const owner = enclosing(callee, 'class_definition');
  if (!owner || !isPlainModule(owner) || callee.parent?.kind === 'decorated_definition') return null;
  if (/^async\b/.test(textOf(callee)) || !input || !canHoist(node)) return null;
  const plain = (childOf(callee, 'parameters')?.children ?? []).every((one) =>
    /^(identifier|(typed_)?(default_)?parameter)$/.test(one.kind),
  );
  const [first, second] = (childOf(callee, 'body')?.children ?? []).filter((statement) => !isText(statement));
  const definition = input.kind === 'identifier' ? definitionOf(input) : null;
  const alone = definition && readersOf(definition, textOf(input)).every((reader) => reader === input);
  const expected = definition ? second : first;
  if (!plain || statementOf(node) !== expected || (definition && (definition.statement !== first || !alone)))
    return null;
  const cat = callOf(unwrap(definition?.value ?? input));
  const operands =
    cat && /^torch\.(cat|concat|concatenate)$/.test(cat.name) ? elements(cat.positional[0] ?? null) : null;
  const parameters = parametersOf(callee).map(({ name }) => name);
  const names = operands?.map(textOf) ?? [];
  const only = names.every((name) => parameters.slice(1).includes(name) && occurrences(callee, name).length === 2);
  return names.length > 1 && new Set(names).size === names.length && only ? names : null;
}

type Behind = Pick<Sink, 'behind'>;

/** How what follows the product is called: nothing where there is nothing, null where that cannot be said. */
function behindOf(callee: Node, { node }: Sink, blocks: readonly string[], call: Given, name: string): Behind | null {
  const statement = statementOf(node);
  const others = parametersOf(callee)
    .slice(1)
    .filter((one) => !blocks.includes(one.name));
  const given = others.flatMap((one) => {
    const value = call.given.get(one.name);
    return value ? [{ name: one.name, value }] : [];
  });
  if (!given.every(({ value }) => isSimple(value) || /^(integer|float|string|true|false|none)$/.test(value.kind)))
    return null;
  if (statement.kind === 'return_statement' && statement.children[0] === node) return others.length > 0 ? null : {};
  const layer = /^self\.(\w+)\(/.exec(textOf(node))?.[1];
  if (layer === undefined) return null;
  const [method, result] = [unusedIn(callee, `after_${layer}`), unusedIn(callee, `${layer}_out`)];
  const list = (childOf(callee, 'parameters')?.children ?? []).slice(1);
  const kept = list.filter((one) => others.some((other) => placesOf(textOf(one), other.name)[0] === 0));
  const [end, outer, inner] = [lineEnd(callee.file.text), indentOf(callee), indentOf(statement)];
  const passed = [textOf(node), ...others.map((one) => `${one.name}=${one.name}`)];
  const header = `def ${method}(${['self', result, ...kept.map(textOf)].join(', ')})${returned(callee)}:`;
  const lines = `return self.${method}(${passed.join(', ')})${end}${end}${outer}${header}${end}${inner}`;
  const edits: Edit[] = [{ start: statement.start, end: statement.start, text: lines }, replace(node, result)];
  const rest = given.map((one) => `, ${one.name}=${flat(one.value)}`).join('');
  return { behind: { written: (value) => `${name}.${method}(${value}${rest})`, edits } };
}
