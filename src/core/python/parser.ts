/**
 * Text to syntax tree. The tree is walked through the wasm module's own cursor functions: making an object of each node
 * through web-tree-sitter's classes costs more than parsing. The functions keep the cursor in a transfer buffer that
 * stays valid as long as nothing else of tree-sitter runs in between, which holds inside `expand` below.
 */
import { type Edit, Language, Parser, type Point, type Tree } from 'web-tree-sitter';
import type { Change, Grammars } from '../engine';
import { createRecent } from '../recent';
import { type Body, bodiesOf } from './bodies';
import { withoutLongComments } from './comments';
import type { Node, SourceFile } from './syntax';

/** The part of the emscripten module that is used; `Parser.init` fills the object it is given. */
interface CursorModule {
  /** Leaves the root node in the transfer buffer, where `cursor_new` takes its node from. */
  _ts_tree_root_node_wasm(tree: number): void;
  _ts_tree_cursor_new_wasm(tree: number): void;
  _ts_tree_cursor_delete_wasm(tree: number): void;
  _ts_tree_cursor_goto_descendant_wasm(tree: number, index: number): void;
  _ts_tree_cursor_goto_first_child_wasm(tree: number): number;
  _ts_tree_cursor_goto_next_sibling_wasm(tree: number): number;
  _ts_tree_cursor_goto_parent_wasm(tree: number): number;
  _ts_tree_cursor_current_descendant_index_wasm(tree: number): number;
  _ts_tree_cursor_current_node_type_id_wasm(tree: number): number;
  _ts_tree_cursor_current_node_is_missing_wasm(tree: number): number;
  _ts_tree_cursor_current_field_id_wasm(tree: number): number;
  _ts_tree_cursor_start_index_wasm(tree: number): number;
  _ts_tree_cursor_end_index_wasm(tree: number): number;
}

export interface ParsedFile extends SourceFile {
  /** Frees the tree. Whoever asks a node for children that were not made before pays for another parse. */
  close(): void;
  /** Lets go of the nodes that were made, which take more memory than the tree; they are made anew when asked for. */
  forgetNodes(): void;
  /** Re-parses after changes, re-using what did not change, and closes this one. */
  edited(changes: readonly Change[]): ParsedFile;
  readonly nodeCount: number;
  /** Whether there is a syntax error in what has been parsed. */
  isBroken(): boolean;
  /** Comments that contain this text. */
  commentsWith(part: string): readonly { readonly line: number; readonly text: string }[];
}

export interface PythonParser {
  /** Function bodies are parsed when they are first looked into, each by itself. */
  parse(path: string, text: string): ParsedFile;
  /** All at once: for what will be edited. */
  parseWhole(path: string, text: string): ParsedFile;
}

const ERROR_TYPE = 0xffff;

const NO_NODES: readonly Node[] = [];

/** Kinds that never have children. */
const LEAVES = new Set([
  'identifier',
  'integer',
  'float',
  'true',
  'false',
  'none',
  'ellipsis',
  'string_start',
  'string_end',
]);

/**
 * Parsed characters whose trees stay in memory, at about 16 bytes each. An analysis may look into hundreds of files, and
 * memory that the wasm module has once taken is never given back: the tree that was longest unused goes, and is parsed
 * again should a node of it be asked for children.
 */
const LIVE_CHARACTERS = 500_000;

/** web-tree-sitter has one runtime per process and fills only the object of the first `init`: later engines share it. */
let runtime: Promise<CursorModule> | undefined;

async function initRuntime(binary: Uint8Array): Promise<CursorModule> {
  const module = {} as CursorModule & Record<string, unknown>;
  module['wasmBinary'] = binary;
  await Parser.init(module);
  return module;
}

/** One shape for all nodes of all files: made once, so that the engine's property reads stay fast. */
class TreeNode implements Node {
  private made: readonly Node[] | null = null;
  private hasBroken: boolean | null = null;
  constructor(
    readonly kind: string,
    readonly field: string | null,
    readonly start: number,
    public end: number,
    readonly parent: Node | null,
    private readonly index: number,
    private readonly selfBroken: boolean,
    readonly file: TreeFile,
    private readonly body: Body | null,
  ) {}
  adopt(children: readonly Node[]): void {
    this.made = children;
    // Where the last one's body was left out, what is around it ends with that, too.
    const last = children[children.length - 1];
    if (last && last.end > this.end) this.end = last.end;
  }
  get children(): readonly Node[] {
    return (this.made ??= this.body ? this.file.childrenIn(this, this.body) : this.file.childrenAt(this, this.index));
  }
  get broken(): boolean {
    // What nobody has looked into is not parsed for its errors.
    if (!this.made && this.body) return false;
    return (this.hasBroken ??= this.file.isBroken() && (this.selfBroken || this.children.some((c) => c.broken)));
  }
}

interface TreeFile extends ParsedFile {
  childrenAt(parent: TreeNode, index: number): readonly Node[];
  /** Of a function whose body was left out. */
  childrenIn(parent: TreeNode, body: Body): readonly Node[];
}

/** Of the text, that must be left out to make it worth two parses. */
const LEAST_PART = 0.25;

/** Where nothing is left out. */
const WHOLE: readonly Body[] = [];
const NOWHERE: Point = { row: 0, column: 0 };

/** See `createEngine` for the share. */
export async function createParser(grammars: Grammars, share = 1): Promise<PythonParser> {
  const module = await (runtime ??= initRuntime(grammars.runtime));
  const language = await Language.load(grammars.python);
  const parser = new Parser();
  parser.setLanguage(language);
  const kinds: string[] = [];
  /** By type: a call into the module for each node would cost as much as the node. */
  const named: boolean[] = [];
  for (let id = 0; id < language.nodeTypeCount; id++) {
    kinds.push(internalized(language.nodeTypeForId(id) ?? ''));
    named.push(language.nodeTypeIsNamed(id));
  }
  const leaves = new Set(kinds.flatMap((kind, id) => (LEAVES.has(kind) ? [id] : [])));
  const fields: (string | null)[] = [];
  for (let id = 0; id <= language.fieldCount; id++) {
    const name = language.fieldNameForId(id);
    fields.push(name === null ? null : internalized(name));
  }
  const comment = kinds.indexOf('comment');
  const definition = kinds.indexOf('function_definition');
  const continuation = kinds.indexOf('line_continuation');

  /** Files whose trees are in memory. */
  const live = createRecent<ParsedFile, ParsedFile>(share * LIVE_CHARACTERS, (file) => file.close());

  /** Offsets alone place nodes: the points of ranges are of no account. */
  function parseRanges(path: string, text: string, ranges: readonly (readonly [number, number])[]): Tree {
    let at = 0;
    // Given whole, the text would be copied anew from the start of every range, up to the size of the parser's buffer.
    const piece = (index: number): string => {
      while (at + 1 < ranges.length && index >= (ranges[at]?.[1] ?? 0)) at++;
      return text.slice(index, ranges[at]?.[1]);
    };
    return given(
      path,
      parser.parse(piece, null, {
        includedRanges: ranges.map(([startIndex, endIndex]) => ({
          startIndex,
          endIndex,
          startPosition: NOWHERE,
          endPosition: NOWHERE,
        })),
      }),
    );
  }

  function grow(path: string, text: string, old: Tree | null, without: readonly Body[]): Tree {
    const parsed = withoutLongComments(text);
    if (without.length === 0) return given(path, parser.parse(parsed, old));
    const starts = [0, ...without.map(({ to }) => to)];
    return parseRanges(
      path,
      parsed,
      starts.map((start, i) => [start, without[i]?.from ?? text.length]),
    );
  }

  function fileOf(path: string, text: string, first: Tree, without: readonly Body[]): ParsedFile {
    let tree: Tree | null = first;
    let hasErrors = first.rootNode.hasError;
    const nodeCount = first.rootNode.descendantCount;
    const bodies = new Map(without.map((body) => [body.start, body]));
    const weight = without.reduce((left, { from, to }) => left - (to - from), text.length);
    /** What is given to the parser, once a part of it is. */
    let parsed: string | null = null;
    let lineStarts: number[] | null = null;

    const treeNow = (): Tree => {
      if (tree) live.get(file);
      else live.set(file, file, weight);
      return (tree ??= grow(path, text, null, without));
    };

    /** The cursor functions take the address of a tree. */
    const addressOf = (of: Tree): number => (of as unknown as Record<number, number>)[0] ?? 0;

    /**
     * Children of the node with that descendant index, and theirs in turn, down to functions and blocks: those are made
     * when asked for, so that a function that nobody evaluates costs nothing.
     */
    function childrenAt(parent: TreeNode, index: number): readonly Node[] {
      // A function alone, rather than all that its tree had beside it.
      if (!tree && index > 0 && without.length > 0) return childrenIn(parent, { start: parent.start, to: parent.end });
      const address = addressOf(treeNow());
      module._ts_tree_root_node_wasm(address);
      module._ts_tree_cursor_new_wasm(address);
      if (index > 0) module._ts_tree_cursor_goto_descendant_wasm(address, index);
      const children = walkChildren(parent, address, false);
      module._ts_tree_cursor_delete_wasm(address);
      return children;
    }

    /** The function is the first statement of a text that begins with it. */
    function childrenIn(parent: TreeNode, { start, to }: Pick<Body, 'start' | 'to'>): readonly Node[] {
      const part = parseRanges(path, (parsed ??= withoutLongComments(text)), [[start, to]]);
      hasErrors ||= part.rootNode.hasError;
      const address = addressOf(part);
      module._ts_tree_root_node_wasm(address);
      module._ts_tree_cursor_new_wasm(address);
      const isThere =
        module._ts_tree_cursor_goto_first_child_wasm(address) !== 0 &&
        module._ts_tree_cursor_current_node_type_id_wasm(address) === definition;
      const children = isThere ? walkChildren(parent, address, true) : NO_NODES;
      module._ts_tree_cursor_delete_wasm(address);
      part.delete();
      return children;
    }

    function walkChildren(parent: TreeNode, address: number, atOnce: boolean): readonly Node[] {
      if (!module._ts_tree_cursor_goto_first_child_wasm(address)) return NO_NODES;
      const children: Node[] = [];
      do {
        const type = module._ts_tree_cursor_current_node_type_id_wasm(address);
        if (type === comment || type === continuation) continue;
        const fieldId = module._ts_tree_cursor_current_field_id_wasm(address);
        const missing = hasErrors && module._ts_tree_cursor_current_node_is_missing_wasm(address) !== 0;
        if (fieldId === 0 && !missing && !(named[type] ?? true)) continue;
        const start = module._ts_tree_cursor_start_index_wasm(address);
        const body = type === definition && !atOnce ? (bodies.get(start) ?? null) : null;
        const child = new TreeNode(
          type === ERROR_TYPE ? 'ERROR' : (kinds[type] ?? ''),
          fieldId === 0 ? null : (fields[fieldId] ?? null),
          start,
          body?.end ?? module._ts_tree_cursor_end_index_wasm(address),
          parent,
          // Asked for where children are yet to be made.
          type === definition && !atOnce ? module._ts_tree_cursor_current_descendant_index_wasm(address) : 0,
          type === ERROR_TYPE || missing,
          file,
          body,
        );
        if (leaves.has(type)) child.adopt(NO_NODES);
        else if (atOnce || type !== definition) child.adopt(walkChildren(child, address, atOnce));
        children.push(child);
      } while (module._ts_tree_cursor_goto_next_sibling_wasm(address));
      module._ts_tree_cursor_goto_parent_wasm(address);
      // A list that has grown has room for many more: a copy has none, and there is one list per node.
      return children.length === 0 ? NO_NODES : children.slice();
    }

    const file: TreeFile = {
      childrenAt,
      childrenIn,
      isBroken: () => hasErrors,
      path,
      text,
      nodeCount,
      get lineStarts() {
        return (lineStarts ??= lineStartsOf(text));
      },
      get root() {
        return root;
      },
      commentsWith(part) {
        const found: { line: number; text: string }[] = [];
        if (!text.includes(part)) return found;
        const whole = without.length > 0 ? grow(path, text, null, WHOLE) : null;
        for (let at = text.indexOf(part); at >= 0;) {
          const node = (whole ?? treeNow()).rootNode.descendantForIndex(at);
          const isComment = node?.type === 'comment';
          if (isComment) found.push({ line: node.startPosition.row + 1, text: node.text });
          at = text.indexOf(part, isComment ? node.endIndex : at + 1);
        }
        whole?.delete();
        return found;
      },
      close() {
        tree?.delete();
        tree = null;
        live.delete(file);
      },
      forgetNodes() {
        root = newRoot();
      },
      edited(changes) {
        const old = treeNow();
        let next = text;
        for (const { start, end, text: inserted } of changes) {
          const before = next;
          next = before.slice(0, start) + inserted + before.slice(end);
          const edit: Edit = {
            startIndex: start,
            oldEndIndex: end,
            newEndIndex: start + inserted.length,
            startPosition: pointOf(before, start),
            oldEndPosition: pointOf(before, end),
            newEndPosition: pointOf(next, start + inserted.length),
          };
          old.edit(edit);
        }
        // What is left out or blanked out may be something else than before: then the old tree says nothing.
        const isWhole = without.length === 0 && [text, next].every((one) => withoutLongComments(one) === one);
        const result = fileOf(path, next, grow(path, next, isWhole ? old : null, WHOLE), WHOLE);
        file.close();
        return result;
      },
    };
    const newRoot = (): Node => new TreeNode('module', null, 0, text.length, null, 0, false, file, null);
    let root = newRoot();
    live.set(file, file, weight);
    return file;
  }

  const parseWhole = (path: string, text: string): ParsedFile =>
    fileOf(path, text, grow(path, text, null, WHOLE), WHOLE);

  return {
    parseWhole,
    parse(path, text) {
      const without = bodiesOf(text) ?? WHOLE;
      if (without.reduce((sum, { from, to }) => sum + to - from, 0) < LEAST_PART * text.length)
        return parseWhole(path, text);
      const tree = grow(path, text, null, without);
      if (!tree.rootNode.hasError) return fileOf(path, text, tree, without);
      tree.delete();
      return parseWhole(path, text);
    },
  };
}

/**
 * The same text as a key of an object, which the machine keeps once: comparing it with a literal is then comparing two addresses,
 * and kinds of nodes are compared more often than anything else.
 */
const internalized = (text: string): string => Object.keys({ [text]: null })[0] ?? text;

function given(path: string, tree: Tree | null): Tree {
  if (!tree) throw new Error(`${path}: the parser gave no tree`);
  return tree;
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) starts.push(at + 1);
  }
  return starts;
}

function pointOf(text: string, offset: number): { row: number; column: number } {
  const starts = lineStartsOf(text.slice(0, offset));
  return { row: starts.length - 1, column: offset - (starts[starts.length - 1] ?? 0) };
}
