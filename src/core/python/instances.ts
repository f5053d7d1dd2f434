/** `isinstance`, as far as the kind of a value decides it. */
import { canonicalName } from '../tensor/operators';
import { isContainer, layerName } from './layers';
import type { Frame, Run } from './run';
import { possible } from './state';
import type { Value } from './value';

/** Builtin types and torch's, by the names that code gives them. */
const TYPES = /^(list|tuple|dict|str|int|float|bool|set|torch\.Tensor|nn\.\w+)$/;

/** Null: not known, or known of some choices only. */
export function isInstance(value: Value, type: Value, frame: Frame, run: Run): boolean | null {
  const answers = possible(value, frame.state.path).map((option) => one(option.value, type, frame, run));
  const [first] = answers;
  return first !== undefined && answers.every((answer) => answer === first) ? first : null;
}

function one(value: Value, type: Value, frame: Frame, run: Run): boolean | null {
  if (type.kind === 'tuple') {
    const answers = type.items.map((item) => one(value, item, frame, run));
    if (answers.includes(true)) return true;
    return type.open || answers.includes(null) ? null : false;
  }
  if (type.kind === 'class') return ofClass(value, type, frame);
  const name = type.kind === 'name' ? canonicalName(type.path) : '';
  if (!TYPES.test(name)) return null;
  const own = typesOf(value, name, frame, run);
  return own === null ? null : own.includes(name);
}

function ofClass(value: Value, type: Value & { kind: 'class' }, frame: Frame): boolean | null {
  if (/^(tensor|tuple|int|number|string|bool|none|layer)$/.test(value.kind)) return false;
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  if (item?.kind === 'list' || item?.kind === 'dict') return false;
  return item?.kind === 'object' && item.model === type.model ? true : null;
}

/** The names of all types that the value is of; null where that is not known for the one that is asked for. */
function typesOf(value: Value, asked: string, frame: Frame, run: Run): readonly string[] | null {
  switch (value.kind) {
    case 'tensor':
      return asked === 'nn.Parameter' || asked === 'nn.Buffer' ? null : ['torch.Tensor'];
    case 'layer':
      return asked === 'nn.Module' || layerName(asked) || isContainer(asked) ? ['nn.Module', value.name] : null;
    case 'tuple':
    case 'shape':
      return ['tuple'];
    case 'int':
      return asked === 'bool' ? null : ['int'];
    case 'string':
      return ['str'];
    case 'none':
      return [];
    case 'ref': {
      const item = frame.state.heap.peek(value.id);
      if (item?.kind === 'list' || item?.kind === 'dict')
        return isContainer(item.tag) ? ['nn.Module', item.tag] : [item.tag];
      if (item?.kind !== 'object' || !item.model || /^nn\.(?!Module$)/.test(asked)) return null;
      return run.isModule(item.model) ? ['nn.Module'] : asked === 'nn.Module' || asked === 'torch.Tensor' ? [] : null;
    }
    default:
      return null;
  }
}
