/** Which rewrites keep gradients: all, but for those under the condition that none are taken. */
import type { Rewrite } from '../finding';
import type { Match } from '../judge/match';
import { type Node, enclosing, lineOf, scopeOf, statementOf, textOf } from '../python/syntax';
import { aliasesOf } from './aliases';
import { originsOf } from './between';
import { callOf } from './expression';
import { isBinding, occurrences } from './names';
import { refuse } from './refusal';

export const keepsGradients = ({ conditions }: Pick<Rewrite, 'conditions'>): boolean =>
  conditions.every(({ kind }) => kind !== 'gradient');

/** Refuses where the gradient of a copy is read, or changed, by its name: the product would no longer go through it. */
export function requireUnhooked(match: Match): void {
  const { form, path, sink } = match;
  const made = [...originsOf(match), ...path.map(({ node }) => node), ...(form?.node ? [form.node] : [])];
  const statements = new Set(made.map(statementOf));
  statements.delete(statementOf(sink.node));
  for (const statement of statements) {
    const scope = scopeOf(statement);
    for (const name of boundIn(statement)) {
      for (const { path: known } of [{ path: name }, ...aliasesOf(name, scope)]) {
        const use = occurrences(scope, known).find(isOfGradient);
        if (use)
          refuse(
            `line ${lineOf(use)} asks for the gradient of \`${known}\`, through which the product would no longer go`,
          );
      }
    }
  }
}

/** The variables that a statement gives values to. */
function boundIn(statement: Node): readonly string[] {
  const [assignment] = statement.kind === 'expression_statement' ? statement.children : [];
  return assignment?.kind === 'assignment'
    ? assignment.children.filter((one) => one.kind === 'identifier' && isBinding(one)).map(textOf)
    : [];
}

/** `x.register_hook(..)`, `x.grad`, `torch.autograd.grad(y, x)`. */
function isOfGradient(name: Node): boolean {
  const member = name.parent?.kind === 'attribute' && name.field === 'object' ? textOf(name.parent) : '';
  if (/\.(register_hook|register_post_accumulate_grad_hook|retain_grad|retains_grad|grad|grad_fn)$/.test(member))
    return true;
  for (
    let call = enclosing(name, 'call');
    call && call.start >= statementOf(name).start;
    call = call.parent && enclosing(call.parent, 'call')
  ) {
    const read = callOf(call);
    const inputs = read?.method === 'backward' ? read.keywords.get('inputs') : undefined;
    if (inputs && inputs.start <= name.start && name.end <= inputs.end) return true;
    if (read && /(^|autograd\.)grad$/.test(read.name) && read.positional[0] !== name) return true;
  }
  return false;
}
