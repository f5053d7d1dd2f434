/** Run, progress, cancel; and the failure of a run with its way out. */
import type { Failure, FromPanel } from '../protocol/panel';
import { fill, h, setText } from './dom';
import { requestOf, type State } from './state';
import { memo, type Dispatch, type View } from './view';

export function runView(dispatch: Dispatch, send: (message: FromPanel) => void, state: () => State): View {
  const start = () => {
    const request = requestOf(state());
    if (!request || state().progress || !state().trusted) return;
    dispatch({ type: 'started' });
    send({ type: 'run', request });
  };
  const stop = () => {
    if (state().progress) send({ type: 'cancel' });
  };
  const run = h('button.primary', { type: 'button', id: 'run', title: 'Ctrl+Enter', onclick: start }, 'Run');
  const cancel = h('button', { type: 'button', id: 'cancel', title: 'Escape', onclick: stop }, 'Cancel');
  const bar = h('progress', { 'aria-label': 'Progress of the run' }) as HTMLProgressElement;
  const stage = h('span.stage', { role: 'status' });
  const running = h('div.running', {}, h('div.line', {}, stage, cancel), bar);
  const said = h('p.said', { role: 'status' });
  const trust = h(
    'div.banner.warning',
    {},
    h('p', {}, 'Measuring starts programs on this machine, so it needs a trusted workspace.'),
    h('button', { type: 'button', onclick: () => send({ type: 'trust' }) }, 'Manage trust'),
  );
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) start();
    if (event.key === 'Escape') stop();
  });
  return {
    element: h('section.run', {}, run, running, said, trust),
    update(now) {
      const { progress } = now;
      run.hidden = progress !== null;
      running.hidden = progress === null;
      trust.hidden = now.trusted;
      run.toggleAttribute('disabled', requestOf(now) === null || !now.trusted);
      setText(said, progress ? '' : now.said);
      if (!progress) return;
      setText(stage, progress.stage);
      if (progress.total > 0) [bar.max, bar.value] = [progress.total, progress.done];
      else bar.removeAttribute('value');
    },
  };
}

/** The failure of the last run or of the search for devices. An alert, so that it is read out at once. */
export function failureView(send: (message: FromPanel) => void): View {
  const element = h('div.failure', { role: 'alert' });
  const draw = memo((failure: Failure | null) => {
    if (!failure) return fill(element);
    const { message, command, details } = failure;
    const copy =
      command && h('button', { type: 'button', onclick: () => send({ type: 'copy', text: command }) }, 'Copy');
    fill(
      element,
      h(
        'div.banner.error',
        {},
        h('p', {}, message),
        command && h('div.line', {}, h('code', {}, command), copy || null),
        details && h('details', {}, h('summary', {}, 'What the benchmark process said last'), h('pre', {}, details)),
        command && h('button', { type: 'button', onclick: () => send({ type: 'findDevices' }) }, 'Look again'),
      ),
    );
  });
  return { element, update: ({ failure }) => draw(failure) };
}
