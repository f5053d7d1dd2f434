/** What to measure: a finding of an open file, or a preset. */
import { OPS } from '../protocol/dims';
import type { Choice, FromPanel } from '../protocol/panel';
import { fill, h } from './dom';
import { memo, type Dispatch, type View } from './view';

export function choiceView(dispatch: Dispatch, send: (message: FromPanel) => void): View {
  const select = h('select', { id: 'choice', 'aria-describedby': 'choice-detail' }) as HTMLSelectElement;
  select.addEventListener('change', () => dispatch({ type: 'choose', id: select.value }));
  const detail = h('div.detail', { id: 'choice-detail' });
  const element = h('section', {}, h('label.heading', { for: 'choice' }, 'Measure'), select, detail);

  const drawMenu = memo((choices: readonly Choice[]) => {
    const group = (label: string, kind: Choice['kind']) => {
      const options = choices.filter((choice) => choice.kind === kind);
      if (options.length === 0) return null;
      return h('optgroup', { label }, ...options.map(({ id, title }) => h('option', { value: id }, title)));
    };
    fill(select, group('Findings in open files', 'finding'), group('Presets', 'preset'));
  });
  const drawDetail = memo((choice: Choice | null) => {
    if (!choice) return fill(detail);
    const reveal = h(
      'button.link',
      { type: 'button', onclick: () => send({ type: 'reveal', choice: choice.id }) },
      'Show in code',
    );
    fill(
      detail,
      h('p', {}, ...withCode(choice.detail)),
      choice.kind === 'finding' && reveal,
      h('code.formula', { title: OPS[choice.op].title }, OPS[choice.op].formula),
    );
  });
  return {
    element,
    update({ choices, choice, progress }) {
      drawMenu(choices);
      drawDetail(choice);
      if (choice) select.value = choice.id;
      select.disabled = progress !== null;
    },
  };
}

/** Names between backticks, as messages have them, in the font of code. */
function withCode(text: string): (HTMLElement | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
}
