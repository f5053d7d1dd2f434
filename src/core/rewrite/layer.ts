/** Which layer a module's name stands for at the sink, read from its constructor in the file. */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, type SourceFile, childOf, enclosing, textOf, lineOf } from '../python/syntax';

import { elsewhereWrapped, isLayerOf, plainLayer, plainTypedLayer, withoutHooks } from './conditions';
import { callOf, integer } from './expression';
import { assignmentsIn } from './file-index';
import { refuse } from './refusal';
import { firstOfList } from './listed-stages';
import { requireUntouched } from './surgery';
import { isOfTorch, torchName } from './torch-name';

export interface Layer {
  /** `self.fc`, or `self.mlp` when it is the first stage of that Sequential. */
  readonly text: string;
  /** Stages of the Sequential in order, or that it is made of a list; null when `text` is the layer itself. */
  readonly stages: readonly Node[] | 'listed' | null;
  readonly weight: string;
  readonly bias: string | null;
  /** What could not be seen: a condition. */
  readonly conditions: readonly Condition[];
}

/** The layer of a module sink, null for functional ones. Refuses a layer that is not plainly what its name says. */
export function layerOf(match: Match): Layer | null {
  const { module, bias } = match.sink;
  if (!module) return null;
  const { constructor } = module;
  // Hooks apart, of which there are none, `self.fc.forward(x)` is `self.fc(x)`.
  const text = module.text.replace(/\.(forward|__call__)$/, '');
  if (module.doubt) refuse(`\`${text}\` is not plainly a linear layer: ${module.doubt}`);
  if (!text || !/^[\w.[\]]+$/.test(text)) refuse('the layer is an expression; give it a name first');
  // A base class may make the layer in another file.
  const files = [...new Set([match.sink.node.file, ...(constructor ? [constructor.file] : [])])];
  const placeIn = (file: SourceFile): string => (file === match.sink.node.file ? '' : ` of ${file.path}`);
  const made = constructor && callOf(constructor);
  const foreign = made && !isOfTorch(made) ? [plainLayer(text)] : [];
  const named = (base: string, stages: Layer['stages'], conditions: readonly Condition[] = []): Layer => ({
    text,
    stages,
    weight: `${base}.weight`,
    bias: bias === 'none' ? null : `${base}.bias`,
    conditions: [
      ...foreign,
      ...conditions,
      ...files.flatMap((file) =>
        [...new Set([text, module.own ?? text, module.through ?? text])].flatMap((name) =>
          wrappers(file, placeIn(file), name, constructor),
        ),
      ),
    ],
  });
  if (made && !/^(Linear|Conv[12]d)$/.test(torchName(made))) refuse(notLinear(text, made.name));
  if (made && integer(made.positional[0] ?? null) === -1) refuse(`\`${text}\` has no weight before its first call`);
  const owners = [match.sink.node, ...(constructor ? [constructor] : [])].flatMap(
    (node) => enclosing(node, 'class_definition') ?? [],
  );
  const own = module.own ?? text;
  for (const file of files) {
    for (const name of new Set([text, own, module.through ?? text]))
      requireUntouched(file, placeIn(file), name, owners);
  }
  if (!constructor) return named(text, null, [withoutHooks(text)]);
  const first = firstOfList(constructor, own, text, placeIn(constructor.file));
  if (first !== null) return named(`${text}[0]`, 'listed', first);
  requireNoOther(constructor, own);
  const { parent } = constructor;
  if (parent?.kind === 'assignment') {
    const once = textOf(childOf(parent, 'left') ?? parent) === own && assignments(parent, own) === 1;
    return named(text, null, once ? [] : [isLayerOf(text, 'linear layer', lineOf(parent), placeIn(constructor.file))]);
  }
  const sequential = sequentialAround(constructor);
  if (!sequential) {
    const plain = parent?.kind === 'attribute' ? plainTypedLayer : plainLayer;
    return named(text, null, /\]$/.test(text) ? [] : [plain(text)]);
  }
  const { stages, target } = sequential;
  if (target !== own) {
    if (target && own.startsWith(`${target}[`)) return named(text, null);
    refuse(`\`${text}\` is not plainly the Sequential that holds the layer`);
  }
  const again =
    assignments(constructor, own) === 1
      ? []
      : [isLayerOf(text, 'Sequential', lineOf(constructor), placeIn(constructor.file))];
  if (stages[0] !== constructor) refuse(`the layer is not the first stage of \`${text}\``);
  return named(`${text}[0]`, stages, again);
}

/** What of the modules that multiply is known to project inside, where nothing can be split. */
export function notLinear(text: string, made: string): string {
  if (/(GRU|LSTM|RNN)(Cell)?\b/.test(made))
    return `\`${text}\` is made by ${made}, which multiplies its input by all gates inside; it takes no product of a part`;
  if (/(Attention|Transformer\w*)\b/.test(made))
    return `\`${text}\` is made by ${made}, which projects its input inside and takes nothing projected`;
  return `\`${text}\` is made by ${made}, not as a plain linear layer`;
}

/** How often the class around `node` assigns to `text`. */
function assignments(node: Node, text: string): number {
  return assignmentsIn(enclosing(node, 'class_definition') ?? node.file.root).get(text)?.length ?? 0;
}

/** Refuses when the class that makes the layer also makes another one by that name. */
function requireNoOther(constructor: Node, text: string): void {
  for (const part of assignmentsIn(enclosing(constructor, 'class_definition') ?? constructor.file.root).get(text) ??
    []) {
    const value = childOf(part, 'right');
    const made = value && callOf(value);
    if (!made || constructor.parent?.parent === value || !/^[A-Z]/.test(made.method)) continue;
    if (!/^(Linear|Conv[12]d)$/.test(torchName(made))) refuse(notLinear(text, `${made.name} at line ${lineOf(part)}`));
  }
}

/** Words of what works through a layer's call, or changes its weight, from outside the class that holds it. */
const WRAPPER =
  /register_(module_)?(full_)?(forward|backward)|parametriz|weight_norm|spectral_norm|\bprune\b|lora|peft|quantiz|fully_?shard|deepspeed|tensor_parallel/i;

/** `m.register_forward_hook(..)`, `weight_norm(m)`, `model.apply(spectral_norm)`: which layer that is, no name says. */
const NAMELESS =
  /(?<![.\w])(?!self\b)[a-z_]\w*\.register_\w*(hook|parametrization)|\bregister_module_\w*hook\(|(_norm|parametrization|unstructured|structured|shard)\((?!self\b)[a-z_]\w*\s*[,)]|\.apply\(|\bquantize_(dynamic)?\(/;

interface WrapperLine {
  /** 1-based. */
  readonly line: number;
  readonly text: string;
  /** The word, where it stands outside of a comment. */
  readonly word: string | undefined;
}

/** The lines with such a word; looked for once per file, since every rewrite in it asks. */
const wrapperLines = new WeakMap<SourceFile, readonly WrapperLine[]>();

function wrapperLinesOf(file: SourceFile): readonly WrapperLine[] {
  const known = wrapperLines.get(file);
  if (known) return known;
  const found = WRAPPER.test(file.text)
    ? file.text.split(/\r\n|\n|\r/).flatMap((text, i): WrapperLine[] => {
        const word = WRAPPER.exec(text.replace(/#.*$/, ''))?.[0];
        return WRAPPER.test(text) ? [{ line: i + 1, text, word }] : [];
      })
    : [];
  wrapperLines.set(file, found);
  return found;
}

/** Refuses where such a word stands beside the layer; elsewhere in the file it is a condition. */
export function wrappers(file: SourceFile, of: string, text: string, constructor: Node | null): readonly Condition[] {
  const lines = wrapperLinesOf(file);
  // `m.fc` elsewhere names the layer too, and so does the variable that it was made under.
  const names = [escape(text.replace(/^self(?=\.)/, ''))];
  const made = constructor?.parent?.kind === 'assignment' ? childOf(constructor.parent, 'left') : null;
  if (made?.kind === 'identifier') names.push(`(?<![\\w.])${textOf(made)}`);
  const own = lines.find((line) => names.some((name) => new RegExp(`${name}(?![\\w])`).test(line.text)));
  if (own) refuse(`line ${own.line}${of} wraps or hooks \`${text}\``);
  const nameless = lines.find((line) => line.word !== undefined && NAMELESS.test(line.text));
  if (nameless)
    refuse(`line ${nameless.line}${of} wraps or hooks layers without naming them, \`${text}\` perhaps among them`);
  return lines
    .flatMap(({ line, word }) => (word === undefined ? [] : [elsewhereWrapped(line, of, word, text)]))
    .slice(0, 1);
}

const escape = (text: string): string => text.replace(/[.[\]]/g, '\\$&');

/** The `nn.Sequential(..)` whose argument a constructor is, with the name that it is assigned to. */
function sequentialAround(
  constructor: Node,
): { readonly stages: readonly Node[]; readonly target: string | null } | null {
  const whole = constructor.parent?.parent;
  const call = whole ? callOf(whole) : null;
  if (!whole || !call || torchName(call) !== 'Sequential' || call.splat || call.keywords.size > 0) return null;
  const left = whole.parent?.kind === 'assignment' ? childOf(whole.parent, 'left') : null;
  return { stages: call.positional, target: left ? textOf(left) : null };
}
