/** Containers of modules, and classes that derive from what torch brings. */
import { ONE } from '../tensor/dim';
import { canonicalName } from '../tensor/operators';
import { exactShape, freeAxis, tensor } from '../tensor/shape';
import { allocate } from './access';
import { isContainer, layerName } from './layers';
import type { ClassModel } from './model';
import { Names } from './names';
import type { Frame, Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import { type Args, NO_ARGS, type Value } from './value';

export function container(name: string, args: Args, frame: Frame, run: Run): Value {
  if (name === 'nn.ModuleDict' || name === 'nn.ParameterDict') {
    const [first] = args.positional;
    const item = first?.kind === 'ref' ? frame.state.heap.get(first.id) : null;
    return allocate(
      item?.kind === 'dict'
        ? { ...item, tag: name }
        : { kind: 'dict', entries: new Map(), open: first !== undefined, tag: name },
      frame,
    );
  }
  const [first] = args.positional;
  let items: readonly Value[] = args.positional;
  let open = args.open;
  if (name !== 'nn.Sequential') {
    const listed = first ? run.items(first, frame) : { items: [], open: false };
    items = listed?.items ?? [];
    open = listed?.open ?? true;
  } else if (first?.kind === 'ref' && frame.state.heap.get(first.id)?.kind === 'dict') {
    const dict = frame.state.heap.get(first.id);
    items = dict?.kind === 'dict' ? [...dict.entries.values()] : [];
    open ||= dict?.kind === 'dict' && dict.open;
  }
  return allocate({ kind: 'list', items, open, tag: name }, frame);
}

/** The dictionary in which a module keeps its parts by their names. */
export const MODULES = '_modules';

/** A class without an own forward that derives from a known module class is that module. */
export function knownBase(model: ClassModel, run: Run, frame: Frame, depth = 3): string | null {
  if (depth === 0) return null;
  for (const value of basesOf(model, run, frame)) {
    const name = value.kind === 'name' ? layerName(canonicalName(value.path)) : null;
    const inherited = value.kind === 'class' ? knownBase(value.model, run, frame, depth - 1) : null;
    if (name ?? inherited) return name ?? inherited;
  }
  return null;
}

/** An instance of a class of the project as the module class that it derives from. */
export const subclassed = (base: string, model: ClassModel, node: Node, given = NO_ARGS): Value => ({
  kind: 'layer',
  name: base,
  args: given,
  node,
  doubt: `${model.name} is a subclass`,
});

const basesOf = (model: ClassModel, run: Run, frame: Frame): readonly Value[] =>
  model.bases.map((base) =>
    run.evaluate(base, {
      ...frame,
      file: model.file,
      closure: null,
      state: { ...frame.state, names: new Names() },
    }),
  );

/** The container that a class is by its bases: `class Chunk(nn.ModuleList)`. */
export function containerOf(model: ClassModel, run: Run, frame: Frame, depth = 3): string | null {
  if (depth === 0) return null;
  for (const value of basesOf(model, run, frame)) {
    const name = value.kind === 'name' ? canonicalName(value.path) : null;
    if (name !== null && isContainer(name)) return name;
    const inherited = value.kind === 'class' ? containerOf(value.model, run, frame, depth - 1) : null;
    if (inherited !== null) return inherited;
  }
  return null;
}

interface Inherited {
  readonly base: RegExp;
  readonly attribute: RegExp;
  readonly layer: string;
  /** It is a list of such layers. */
  readonly listed?: true;
}

/** Attributes of classes of other libraries that are layers or parameters, by what those libraries document. */
const INHERITED: readonly Inherited[] = [
  { base: /^diffusers\.(\w+\.)*(Cross)?Attention$/, attribute: /^(to_[qkv]|add_[qkv]_proj)$/, layer: 'nn.Linear' },
  { base: /^timm\.(\w+\.)*VisionTransformer$/, attribute: /^(pos|patch)_drop$/, layer: 'nn.Dropout' },
  { base: /^timm\.(\w+\.)*VisionTransformer$/, attribute: /^(pos_embed|cls_token)$/, layer: 'nn.Parameter' },
  {
    base: /^timm\.(\w+\.)*VisionTransformer$/,
    attribute: /^blocks$/,
    layer: 'nn.TransformerEncoderLayer',
    listed: true,
  },
];

/** Is one of the bases of a class one of these, outside of the project? */
export const derivesFrom = (classes: RegExp, model: ClassModel, run: Run, frame: Frame): boolean =>
  basesOf(model, run, frame).some((base) => base.kind === 'name' && classes.test(base.path));

/** What a class has from a base outside of the project: `self.to_k` of an attention of diffusers. */
export function inheritedLayer(model: ClassModel, name: string, node: Node, run: Run, frame: Frame): Value | null {
  const known = INHERITED.filter(({ attribute }) => attribute.test(name));
  if (known.length === 0) return null;
  const bases = basesOf(model, run, frame).flatMap((base) => (base.kind === 'name' ? [base.path] : []));
  const found = known.find(({ base }) => bases.some((path) => base.test(path)));
  if (!found) return null;
  // Of one sample.
  if (found.layer === 'nn.Parameter')
    return tensor(exactShape([ONE, null, null].map(freeAxis)), { content: 'parameter', label: `self.${name}` });
  const doubt = 'it is made by a class of another library';
  const layer: Value = { kind: 'layer', name: found.layer, args: NO_ARGS, node, doubt };
  return found.listed ? allocate({ kind: 'list', items: [layer], open: true, tag: 'nn.ModuleList' }, frame) : layer;
}

/** What a dataclass or a named tuple is made of: its fields in order, or by name. */
export function fieldsGiven(model: ClassModel, args: Args): ReadonlyMap<string, Value> {
  const given = new Map(args.keywords);
  const statements = args.positional.length > 0 ? (childOf(model.node, 'body')?.children ?? []) : [];
  const fields = statements.flatMap((statement) => /^(\w+)\s*:[^:]/.exec(textOf(statement))?.[1] ?? []);
  args.positional.forEach((value, i) => {
    const field = fields[i];
    if (field !== undefined && !args.open) given.set(field, value);
  });
  return given;
}
