/** Comments in the text that a rewrite takes away: they are kept, each on a line of its own above the new lines. */
import { type Node, statementOf, textOf } from '../python/syntax';
import { type Edit, inOrder, indentOf, lineEnd } from './edit';
import { visit } from './names';

/** Comments to tools about the very line that they stand on. */
const FOR_TOOLS = /^#\s*(noqa|type:|pylint|pyright|mypy|fmt:|yapf|isort|ruff|nosec|pragma|ikbo)/i;

/** The edits, with the comments of what they replace put in front of the statements that these stand in. */
export function keepComments(root: Node, edits: readonly Edit[]): readonly Edit[] {
  const { text } = root.file;
  // Most files have none there; strings are only looked for where a `#` stands.
  if (edits.every(({ start, end }) => !text.slice(start, end).includes('#'))) return edits;
  const strings: Node[] = [];
  visit(root, (node) => {
    if (node.kind === 'string' && textOf(node).includes('#')) strings.push(node);
  });
  const inString = (at: number): boolean => strings.some(({ start, end }) => start <= at && at < end);
  const above: Edit[] = [];
  const kept = edits.map((edit) => {
    const comments = commentsIn(text, edit, inString);
    if (comments.length === 0) return edit;
    const end = lineEnd(text);
    const statement = statementAt(root, edit);
    const indent = indentOf(statement);
    // A statement that goes with its line leaves the comments in its place.
    if (edit.start < statement.start) {
      return { ...edit, text: comments.map((comment) => indent + comment + end).join('') + edit.text };
    }
    const lines = comments.map((comment) => comment + end + indent).join('');
    above.push({ start: statement.start, end: statement.start, text: lines });
    return edit;
  });
  return inOrder([...above, ...kept]);
}

function commentsIn(
  text: string,
  { start, end, text: written }: Edit,
  inString: (at: number) => boolean,
): readonly string[] {
  const found: string[] = [];
  for (let at = text.indexOf('#', start); at >= 0 && at < end; at = text.indexOf('#', at + 1)) {
    if (inString(at)) continue;
    const comment = /^[^\r\n]*/.exec(text.slice(at))?.[0].trimEnd() ?? '';
    if (!FOR_TOOLS.test(comment) && !written.includes(comment)) found.push(comment);
    at += comment.length;
  }
  return found;
}

/** The innermost statement that an edit starts in; the white space in front of a statement belongs to it. */
function statementAt(root: Node, { start }: Edit): Node {
  const { text } = root.file;
  let offset = start;
  while (/\s/.test(text[offset] ?? '')) offset++;
  let at = root;
  for (;;) {
    const inside = at.children.find((child) => child.start <= offset && offset < child.end);
    if (!inside) return statementOf(at);
    at = inside;
  }
}
