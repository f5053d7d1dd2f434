/** The sizes, one field each with its meaning, and what they cost in the code as written. */
import type { Op } from '../protocol/bench';
import { checkDims, copiedBytes, OPS } from '../protocol/dims';
import type { FromPanel } from '../protocol/panel';
import { fill, h, setText } from './dom';
import { bytes, significant } from './format';
import { dimsOf, isSize, modelOf, sizeOf, type State } from './state';
import { memo, type Dispatch, type View } from './view';

interface Field {
  readonly name: string;
  readonly input: HTMLInputElement;
  readonly problem: HTMLElement;
}

export function shapesView(dispatch: Dispatch, send: (message: FromPanel) => void, state: () => State): View {
  const grid = h('div.sizes');
  const cost = h('p.cost', { role: 'status' });
  const heading = h('h2.heading', { id: 'shapes' }, 'Shapes');
  const model = modelSizes(dispatch, send, state);
  const element = h('section', { role: 'group', 'aria-labelledby': 'shapes' }, heading, model.element, grid, cost);
  let fields: readonly Field[] = [];

  const build = memo((op: Op | null) => {
    fields = op
      ? OPS[op].dims.map(({ name, what }) =>
          field(`size-${name}`, name, what, (text) => dispatch({ type: 'size', name, text })),
        )
      : [];
    fill(grid, ...fields.map(({ input }) => input.parentElement));
  });
  return {
    element,
    update(state) {
      model.update(state);
      build(state.choice?.op ?? null);
      if (!state.choice) return;
      const dims = dimsOf(state);
      const problems = checkDims(state.choice.op, dims);
      for (const { name, input, problem } of fields) {
        const text = state.sizes[name] ?? '';
        if (input.value !== text) input.value = text;
        input.disabled = state.progress !== null;
        input.setAttribute('aria-invalid', String(name in problems));
        setText(problem, problems[name] ?? '');
      }
      setText(cost, Object.keys(problems).length > 0 ? '' : costText(state, dims));
    },
  };
}

/** The sizes of a model's inputs, from which those of the operator follow. */
function modelSizes(dispatch: Dispatch, send: (message: FromPanel) => void, state: () => State): View {
  const grid = h('div.sizes');
  const note = h(
    'p.note',
    {},
    'Sizes of the model’s inputs: the operator’s sizes below follow, and the whole model runs at them through onnxruntime, as it is and rewritten.',
  );
  const element = h('div.model', {}, note, grid);
  let fields: readonly Field[] = [];
  const typed = (name: string, text: string): void => {
    dispatch({ type: 'modelSize', name, text });
    const model = modelOf(state());
    if (model) send({ type: 'modelSizes', model });
  };
  const build = memo((names: string) => {
    fields = names.split('\n').filter(Boolean).map((name) =>
      field(`model-size-${name}`, name, 'of the model', (text) => typed(name, text)),
    ); // prettier-ignore
    fill(grid, ...fields.map(({ input }) => input.parentElement));
  });
  return {
    element,
    update({ choice, modelSizes: sizes, progress }) {
      element.hidden = !choice?.model;
      build(Object.keys(choice?.model ?? {}).join('\n'));
      for (const { name, input, problem } of fields) {
        const text = sizes[name] ?? '';
        if (input.value !== text) input.value = text;
        input.disabled = progress !== null;
        const size = sizeOf(text);
        const wrong = size !== null && !isSize(size);
        input.setAttribute('aria-invalid', String(wrong));
        setText(problem, wrong ? 'Must be a whole number.' : size === null ? 'Without it, the model is not run.' : '');
      }
    },
  };
}

function field(id: string, name: string, what: string, typed: (text: string) => void): Field {
  const input = h('input', { id, inputmode: 'numeric', autocomplete: 'off', spellcheck: 'false' });
  const problem = h('div.problem', { id: `problem-${id}` });
  input.setAttribute('aria-describedby', problem.id);
  const box = input as HTMLInputElement;
  box.addEventListener('input', () => typed(box.value));
  h('div.size', {}, h('label', { for: input.id }, h('b', {}, name), ` ${what}`), input, problem);
  return { name, input: box, problem };
}

function costText({ choice, dtype }: State, typed: Readonly<Record<string, number | null>>): string {
  if (!choice) return '';
  const dims = Object.fromEntries(Object.entries(typed).map(([name, size]) => [name, size ?? 0]));
  const ratio = (dims.B ?? 0) / (dims.U ?? 1);
  const each = ratio === 1 ? 'one candidate' : `${significant(ratio).replace(/\.0+$/, '')} candidates`;
  return `As written, each call copies ${bytes(copiedBytes(choice.op, dims, dtype))}: ${each} per user.`;
}
