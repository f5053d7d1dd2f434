/** Names beyond a function: module level, imports, classes of this and of other files. */
import type { FileSource } from '../engine';
import { canonicalName } from '../tensor/operators';
import { isKnownOutside, isModuleOutside } from './layers';
import { EXTERNAL, isKnown, isOutside, isOwnOfKnown } from './outside';
import { isBuiltin } from './builtins';
import type { Binding, ClassModel, FileModel, FunctionModel, ImportBinding } from './model';
import type { Asked, Library } from './library';
import { type Node, textOf } from './syntax';

export interface Project {
  readonly main: FileModel;
  /** Asks for no parse of the main file, as `main` does. */
  isMain(file: FileModel): boolean;
  /**
   * Could what this import of the main file brings make a replica, itself or by what it calls? For a module that is asked of
   * one of its members, null for none. By the texts alone, without a parse.
   */
  mayBring(binding: ImportBinding, member: string | null): boolean;
  /** Could a method that an imported class has or inherits make a replica? By the texts alone. */
  mayInherit(binding: ImportBinding, method: string): boolean;
  /** What an import of the main file brings. */
  brought(binding: ImportBinding): Found | null;
  /** What a name of a file is bound to, through imports. */
  lookup(name: string, file: FileModel): Found | null;
  method(model: ClassModel, name: string): FunctionModel | null;
  /** The same function in the stub `name.pyi` beside its file. */
  stub(model: FunctionModel): FunctionModel | null;
  /**
   * The module class of the file `name.py` beside `file`, if there is just one that no other class of that file uses, or just
   * one of those that is called so (`TwoWayTransformer`): what a constructor parameter of that name is given.
   */
  sibling(name: string, file: FileModel): ClassModel | null;
  isModule(model: ClassModel): boolean;
  /** Other files that may construct the class, or that import the function, as far as they can be asked for. */
  naming(model: ClassModel | FunctionModel): readonly FileModel[];
  /** The module class that a name of a file is bound to. Configurations and the like are told apart without a parse. */
  moduleNamed(name: string, file: FileModel): ClassModel | null;
  bases(model: ClassModel): readonly (ClassModel | string)[];
  /** All that has been asked for so far. */
  asked(): Asked;
  /** True when every file still is as it was; asks for each, so that a caller that records reads learns of them. */
  holds(asked: Asked): boolean;
}

export type Found =
  | FunctionModel
  | ClassModel
  | { readonly kind: 'external'; readonly path: string }
  | { readonly kind: 'module'; readonly file: FileModel }
  | { readonly kind: 'value'; readonly node: Node; readonly file: FileModel };

const MAX_HOPS = 8;
/** Files that are looked through for constructions of one class. */
const MAX_NAMING = 6;
/** Bases of bases in which a method is looked for without a parse. */
const MAX_BASES = 3;

/** `open` gives the model of the main file: asked for only when something needs it, since it costs a parse. */
export function openProject(path: string, open: () => FileModel, library: Library, files: FileSource | null): Project {
  const models = new Map<string, FileModel | null>();
  const texts = new Map<string, string | undefined>();
  const asked: (readonly [path: string, text: string | undefined])[] = [];
  /** Of what earlier analyses asked for: how many of the first files are known to be as they were, and whether one is not. */
  const held = new Map<Asked['files'], { readonly count: number; readonly changed: boolean }>();
  const roots = rootsOf(path);
  const others = [...(files?.roots ?? [])].sort((a, b) => b.length - a.length);
  let main: FileModel | null = null;
  const mainModel = (): FileModel => (main ??= open());

  function modelAt(at: string): FileModel | null {
    if (at === path) {
      const model = mainModel();
      learn(at, model.file.text);
      return model;
    }
    const known = models.get(at);
    if (known !== undefined) return known;
    const text = textAt(at);
    const model = text === undefined ? null : library.open(at, text).model;
    models.set(at, model);
    return model;
  }

  function textAt(at: string): string | undefined {
    if (!texts.has(at)) learn(at, files?.read(at));
    return texts.get(at);
  }

  function learn(at: string, text: string | undefined): void {
    if (!texts.has(at)) asked.push([at, text]);
    texts.set(at, text);
  }

  const moduleFile = (module: string, from: string): FileModel | null => {
    const at = modulePath(module, from);
    return at === null ? null : modelAt(at);
  };

  const paths = new Map<string, string | null>();

  /** `a.b` as a file: a module or the __init__ of a package, looked for beside the file and in every folder above. */
  function modulePath(module: string, from: string): string | null {
    if (!files) return null;
    const key = `${from.slice(0, from.lastIndexOf('/') + 1)}:${module}`;
    const known = paths.get(key);
    if (known !== undefined) return known;
    const found = findModule(module, from);
    paths.set(key, found);
    return found;
  }

  function findModule(module: string, from: string): string | null {
    const dots = /^\.*/.exec(module)?.[0].length ?? 0;
    const parts = module
      .slice(dots)
      .split('.')
      .filter((p) => p !== '')
      .join('/');
    const folder = from.split('/').slice(0, -1);
    if (dots > 0) return inFolders([folder.slice(0, folder.length - (dots - 1)).join('/')], parts);
    const home = others.find((root) => from.startsWith(`${root}/`)) ?? '';
    const own = [folder.join('/'), ...(home === '' ? roots : foldersAbove(from, home))];
    const found = inFolders(own, parts);
    if (others.length === 0 || (found !== null && home === '')) return found;
    // A package is one folder's: what another one of that name has is not found.
    const [top = ''] = parts.split('/');
    if (found === null && inFolders(own, top) !== null) return null;
    const elsewhere = ['', ...others]
      .filter((root) => root !== home)
      .map((root) => (root === '' ? roots : [root, `${root}/src`]));
    const holding = elsewhere.filter(
      (folders) => inFolders(folders, parts) !== null || inFolders(folders, top) !== null,
    );
    const [one, ...more] = holding;
    if (found !== null) return one ? null : found;
    return one && more.length === 0 ? inFolders(one, parts) : null;
  }

  /** The file of a module, `a/b`, in the first folder that has it. */
  function inFolders(folders: readonly string[], module: string): string | null {
    for (const folder of new Set(folders)) {
      const stem = [folder, module].filter((p) => p !== '').join('/');
      // A stub alone is of what is compiled.
      const found = [`${stem}.py`, stem === '' ? '__init__.py' : `${stem}/__init__.py`, `${stem}.pyi`].find(
        (at) => at === path || textAt(at) !== undefined,
      );
      if (found !== undefined) return found;
    }
    return null;
  }

  function mayBring(binding: ImportBinding, from: string, member: string | null, hops: number): boolean {
    if (isOutside(binding) || hops > MAX_HOPS) return false;
    const { module, name } = binding;
    if (name === null) return member !== null && producedIn(modulePath(module, from), member, hops);
    if (member === null) return producedIn(modulePath(module, from), name, hops);
    return producedIn(modulePath(submodule(module, name), from), member, hops);
  }

  const produced = new Map<string, boolean>();
  /** Does a file bind the name to what may make a replica? */
  function producedIn(at: string | null, name: string, hops: number): boolean {
    const text = at === null ? undefined : textAt(at);
    if (at === null || text === undefined) return false;
    const key = `${at}:${name}`;
    const known = produced.get(key);
    if (known !== undefined) return known;
    produced.set(key, false); // for functions that call each other
    const found = findProduced(at, text, name, hops);
    produced.set(key, found);
    return found;
  }

  function findProduced(at: string, text: string, name: string, hops: number): boolean {
    const outline = library.outline(at, text);
    const defined = outline.definition(name);
    if (defined?.produces || defined?.calls.some((callee) => reaches(callee))) return true;
    const inner = outline.imports.get(name);
    if (inner || defined) return inner !== undefined && mayBring(inner, at, null, hops + 1);
    const brings = (module: string): boolean => mayBring({ kind: 'import', module, name }, at, null, hops + 1);
    return outline.produces || outline.starred.some(brings);

    function reaches(callee: string): boolean {
      const brought = outline.imports.get(callee);
      if (brought) return mayBring(brought, at, null, hops + 1);
      return outline.definition(callee) !== undefined && producedIn(at, callee, hops + 1);
    }
  }

  /** `module` as imported by the file `from`. Methods of other classes beside it may count, too. */
  function mayInherit({ module, name }: ImportBinding, from: string, method: string, hops: number): boolean {
    if (isKnown(module) || name === null || hops > MAX_BASES) return false;
    const at = modulePath(module, from);
    const text = at === null ? undefined : textAt(at);
    if (at === null || text === undefined) return false;
    const outline = library.outline(at, text);
    const own = outline.definition(method);
    if (own) return own.produces;
    const passedOn = outline.imports.get(name);
    if (passedOn) return mayInherit(passedOn, at, method, hops + 1);
    return outline.bases(name).some((base) => {
      const further = outline.imports.get(base);
      return further !== undefined && mayInherit(further, at, method, hops + 1);
    });
  }

  const submodule = (module: string, name: string): string => `${module}${module.endsWith('.') ? '' : '.'}${name}`;

  function follow(binding: Binding, file: FileModel, hops: number): Found | null {
    if (binding.kind === 'function' || binding.kind === 'class') return binding;
    if (binding.kind === 'value') return { kind: 'value', node: binding.node, file };
    return followImport(binding, file.file.path, hops);
  }

  function followImport(binding: ImportBinding, from: string, hops: number): Found | null {
    const path = binding.name === null ? binding.module : `${binding.module}.${binding.name}`;
    if (isKnown(path)) {
      const own = binding.name !== null && isOwnOfKnown(path) ? moduleFile(binding.module, from) : null;
      const found = own && hops < MAX_HOPS ? inFile(binding.name ?? '', own, hops + 1) : null;
      return found?.kind === 'function' || found?.kind === 'class' ? found : { kind: 'external', path };
    }
    if (binding.name === null) {
      const target = moduleFile(binding.module, from);
      return target ? { kind: 'module', file: target } : { kind: 'external', path };
    }
    const target = moduleFile(binding.module, from);
    const inner = target && hops < MAX_HOPS ? inFile(binding.name, target, hops + 1) : null;
    if (inner) return inner;
    const inside = moduleFile(submodule(binding.module, binding.name), from);
    return inside ? { kind: 'module', file: inside } : { kind: 'external', path };
  }

  const foundIn = new WeakMap<FileModel, Map<string, Found | null>>();

  /** Remembered: `torch` alone is looked up on every other line. */
  function lookup(name: string, from: FileModel): Found | null {
    let known = foundIn.get(from);
    if (!known) foundIn.set(from, (known = new Map()));
    let found = known.get(name);
    if (found === undefined) {
      found = inFile(name, from, 0) ?? (isBuiltin(name) ? { kind: 'external', path: name } : null);
      known.set(name, found);
    }
    return found;
  }

  function inFile(name: string, file: FileModel, hops: number): Found | null {
    const binding = file.names.get(name);
    if (binding) return follow(binding, file, hops);
    for (const module of file.starred) {
      if (EXTERNAL.test(module) || hops >= MAX_HOPS) continue;
      const at = modulePath(module, file.file.path);
      const target = at !== null && mayExport(at, name, new Set([file.file.path])) ? modelAt(at) : null;
      const found = target && target !== file ? inFile(name, target, hops + 1) : null;
      if (found) return found;
    }
    const path = isBuiltin(name) ? undefined : file.starred.map((m) => `${m}.${name}`).find((at) => isKnownOutside(at));
    return path === undefined ? null : { kind: 'external', path };
  }

  /** By the texts alone: packages star-import hundreds of files, of which at most one binds the name. */
  function mayExport(at: string, name: string, seen: Set<string>): boolean {
    const text = seen.has(at) ? undefined : textAt(at);
    seen.add(at);
    if (text === undefined) return false;
    const { exports, starred } = library.outline(at, text);
    const inner = (module: string): boolean => {
      const path = EXTERNAL.test(module) ? null : modulePath(module, at);
      return path !== null && mayExport(path, name, seen);
    };
    return exports(name) || starred.some(inner);
  }

  const basesOf = new Map<ClassModel, readonly (ClassModel | string)[]>();

  function bases(model: ClassModel): readonly (ClassModel | string)[] {
    const known = basesOf.get(model);
    if (known) return known;
    const resolved = model.bases.map((node) => {
      const text = textOf(node);
      const [first = '', ...rest] = text.split('.');
      const found = inFile(first, model.file, 0);
      if (found?.kind === 'class' && rest.length === 0) return found;
      if (found?.kind === 'external') return canonicalName([found.path, ...rest].join('.'));
      if (found?.kind === 'module' && rest.length === 1) {
        const inner = inFile(rest[0] ?? '', found.file, 0);
        if (inner?.kind === 'class') return inner;
      }
      return text;
    });
    basesOf.set(model, resolved);
    return resolved;
  }

  function method(model: ClassModel, name: string, depth = 0): FunctionModel | null {
    const own = model.methods.get(name);
    if (own) return own;
    if (depth > MAX_HOPS) return null;
    for (const base of bases(model)) {
      const found = typeof base === 'string' ? null : method(base, name, depth + 1);
      if (found) return found;
    }
    return null;
  }

  function stub({ name, owner, file }: FunctionModel): FunctionModel | null {
    const at = `${file.file.path}i`;
    if (!at.endsWith('.pyi') || textAt(at) === undefined) return null;
    const names = modelAt(at)?.names;
    const found = names?.get(owner?.name ?? name);
    const same = owner ? (found?.kind === 'class' ? found.methods.get(name) : undefined) : found;
    return same?.kind === 'function' ? same : null;
  }

  function sibling(name: string, file: FileModel): ClassModel | null {
    const beside = moduleFile(`.${name}`, file.file.path);
    if (!beside || beside === file) return null;
    const { text } = beside.file;
    const roots = beside.classes.filter(
      (c) => isModule(c) && !new RegExp(`[^\\w.]${c.name}\\(`).test(text.replace(`class ${c.name}(`, '')),
    );
    const plain = name.replace(/_/g, '').toLowerCase();
    const named = roots.length > 1 ? roots.filter((c) => c.name.toLowerCase().endsWith(plain)) : roots;
    return named.length === 1 ? (named[0] ?? null) : null;
  }

  const modules = new Map<ClassModel, boolean>();

  function isModule(model: ClassModel): boolean {
    const known = modules.get(model);
    if (known !== undefined) return known;
    modules.set(model, false); // for a class that names itself as its base
    const found = bases(model).some((b) => (typeof b === 'string' ? isModuleOutside(b) : isModule(b)));
    modules.set(model, found);
    return found;
  }

  function moduleNamed(name: string, file: FileModel): ClassModel | null {
    const binding = file.names.get(name);
    const at = binding?.kind === 'import' ? modulePath(binding.module, file.file.path) : null;
    // What never mentions torch defines no module, and a package that does not may still pass one on.
    if (at !== null && !at.endsWith('__init__.py') && !(textAt(at) ?? '').includes('torch')) return null;
    const found = inFile(name, file, 0);
    return found?.kind === 'class' && isModule(found) ? found : null;
  }

  const naming = ({ name }: ClassModel | FunctionModel): readonly FileModel[] =>
    (files?.naming?.(name) ?? []).slice(0, MAX_NAMING).flatMap((at) => modelAt(at) ?? []);

  return {
    get main() {
      return mainModel();
    },
    isMain: (file) => file.file.path === path,
    brought: (binding) => followImport(binding, path, 0),
    mayBring: (binding, member) => mayBring(binding, path, member, 0),
    mayInherit: (binding, method) => mayInherit(binding, path, method, 0),
    lookup,
    method,
    stub,
    isModule,
    moduleNamed,
    bases,
    naming,
    sibling,
    asked: () => ({ files: asked, count: asked.length, roots: others.join('\n') }),
    holds({ files: before, count, roots: lookedIn }) {
      if (lookedIn !== others.join('\n')) return false;
      const known = held.get(before) ?? { count: 0, changed: false };
      if (known.changed || known.count >= count) return !known.changed;
      // Each is asked for, so that a caller that records reads learns of them.
      let changed = false;
      for (const [at, text] of before.slice(known.count, count)) changed = files?.read(at) !== text || changed;
      held.set(before, { count, changed });
      return !changed;
    },
  };
}

/** The folders from a file's up to `root`, innermost first, and `src` in that. */
function foldersAbove(file: string, root: string): string[] {
  const parts = file
    .slice(root.length + 1)
    .split('/')
    .slice(0, -1);
  return [...parts.map((_, i) => `${root}/${parts.slice(0, parts.length - i).join('/')}`), root, `${root}/src`];
}

/** Every folder above the file, innermost first, and the root. */
function rootsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return [...parts.map((_, i) => parts.slice(0, parts.length - i).join('/')), '', 'src'];
}
