/** Code that multiplies first and copies after: `lin(user).repeat_interleave(n, 0) + lin2(item)` is as it should be. */
import { type Node, childOf, enclosing, scopeOf, textOf } from '../python/syntax';
import type { LinearForm } from './match';
import { placesOf } from '../python/words';

/** A sum whose copied terms are all products already. Another product behind it is a model's own depth, not a slip. */
export function isProjectedSum(form: LinearForm | null): boolean {
  const [block, ...more] = form?.blocks ?? [];
  if (!block || more.length > 0 || block.terms.length < 2) return false;
  const copied = block.terms.filter((term) => term.replicated);
  return (
    copied.length > 0 &&
    copied.every(({ factors: [atom, ...others] }) => {
      const source = atom?.replicas[0]?.sourceExpression;
      return source != null && others.length === 0 && isProduct(source.node, 4);
    })
  );
}

/** `F.linear(x, w)`, `w @ x`, `self.fc(x)` of an nn.Linear, or a name for one of these. */
function isProduct(node: Node, depth: number): boolean {
  if (node.kind === 'parenthesized_expression')
    return node.children[0] !== undefined && isProduct(node.children[0], depth);
  if (node.kind === 'binary_operator') return textOf(childOf(node, 'operator') ?? node) === '@';
  if (node.kind === 'subscript') {
    const value = childOf(node, 'value');
    return value !== null && isProduct(value, depth);
  }
  if (node.kind === 'identifier') {
    const value = depth > 0 ? lastValue(node) : null;
    return value !== null && isProduct(value, depth - 1);
  }
  const fn = node.kind === 'call' ? childOf(node, 'function') : null;
  if (!fn) return false;
  const name = textOf(fn);
  const viewed = /\.(unsqueeze|view|squeeze)$/.test(name) ? childOf(fn, 'object') : null;
  if (viewed) return isProduct(viewed, depth);
  if (/^((torch\.)?nn\.functional|F)\.linear$|^torch\.(matmul|mm|bmm)$/.test(name)) return true;
  const owner = /^self\.\w+$/.test(name) ? enclosing(node, 'class_definition') : null;
  if (owner === null) return false;
  const text = textOf(owner);
  return placesOf(text, name).some((at) => MADE_LINEAR.test(text.slice(at + name.length, at + name.length + 40)));
}

const MADE_LINEAR = /^\s*=\s*nn\.Linear\(/;

/** What the last assignment in front of `use` gives to its name. */
function lastValue(use: Node): Node | null {
  let found: Node | null = null;
  const walk = (node: Node): void => {
    if (node.start >= use.start) return;
    const left = node.kind === 'assignment' ? childOf(node, 'left') : null;
    if (left?.kind === 'identifier' && node.end <= use.start && textOf(left) === textOf(use))
      found = childOf(node, 'right');
    node.children.forEach(walk);
  };
  walk(scopeOf(use));
  return found;
}
