/** The sizes, one field each with its meaning, and what they cost in the code as written. */
import type { Op } from '../protocol/bench';
import { checkDims, copiedBytes, OPS } from '../protocol/dims';
import { fill, h, setText } from './dom';
import { bytes, significant } from './format';
import { dimsOf, type State } from './state';
import { memo, type Dispatch, type View } from './view';

interface Field {
  readonly name: string;
  readonly input: HTMLInputElement;
  readonly problem: HTMLElement;
}

export function shapesView(dispatch: Dispatch): View {
  const grid = h('div.sizes');
  const cost = h('p.cost', { role: 'status' });
  const heading = h('h2.heading', { id: 'shapes' }, 'Shapes');
  const element = h('section', { role: 'group', 'aria-labelledby': 'shapes' }, heading, grid, cost);
  let fields: readonly Field[] = [];

  const build = memo((op: Op | null) => {
    fields = op ? OPS[op].dims.map(({ name, what }) => field(name, what, dispatch)) : [];
    fill(grid, ...fields.map(({ input }) => input.parentElement));
  });
  return {
    element,
    update(state) {
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

function field(name: string, what: string, dispatch: Dispatch): Field {
  const input = h('input', { id: `size-${name}`, inputmode: 'numeric', autocomplete: 'off', spellcheck: 'false' });
  const problem = h('div.problem', { id: `problem-${name}` });
  input.setAttribute('aria-describedby', problem.id);
  const typed = input as HTMLInputElement;
  typed.addEventListener('input', () => dispatch({ type: 'size', name, text: typed.value }));
  h('div.size', {}, h('label', { for: input.id }, h('b', {}, name), ` ${what}`), input, problem);
  return { name, input: typed, problem };
}

function costText({ choice, dtype }: State, typed: Readonly<Record<string, number | null>>): string {
  if (!choice) return '';
  const dims = Object.fromEntries(Object.entries(typed).map(([name, size]) => [name, size ?? 0]));
  const ratio = (dims.B ?? 0) / (dims.U ?? 1);
  const each = ratio === 1 ? 'one candidate' : `${significant(ratio).replace(/\.0+$/, '')} candidates`;
  return `As written, each call copies ${bytes(copiedBytes(choice.op, dims, dtype))}: ${each} per user.`;
}
