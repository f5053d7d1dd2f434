/** The benchmark panel: messages and clicks become events, events change the state, views are drawn from it. */
import type { FromPanel, ToPanel } from '../protocol/panel';
import { choiceView } from './choice-view';
import { h } from './dom';
import { methodView } from './method-view';
import { resultView } from './result-view';
import { failureView, runView } from './run-view';
import { shapesView } from './shapes-view';
import { INITIAL, reduce, type Event, type State } from './state';

declare function acquireVsCodeApi(): { postMessage(message: FromPanel): void };

const editor = acquireVsCodeApi();
const send = (message: FromPanel) => editor.postMessage(message);
let state: State = INITIAL;

const dispatch = (event: Event): void => {
  const before = state;
  state = reduce(state, event);
  for (const view of views) view.update(state);
  if (before.results.length < state.results.length) result.element.querySelector<HTMLElement>('.headline')?.focus();
  if (!before.failure && state.failure) failure.element.scrollIntoView({ block: 'nearest' });
};
const result = resultView(dispatch, send);
const form = [
  choiceView(dispatch, send),
  shapesView(dispatch, send, () => state),
  methodView(dispatch),
  runView(dispatch, send, () => state),
];
const failure = failureView(send);
const views = [...form, failure, result];

document.body.append(
  h(
    'main',
    {},
    h(
      'form.form',
      { 'aria-label': 'Benchmark', onsubmit: (event) => event.preventDefault() },
      ...form.map(({ element }) => element),
    ),
    h('div.results', {}, failure.element, result.element),
  ),
);
for (const view of views) view.update(state);
window.addEventListener('message', (event: MessageEvent<ToPanel>) => dispatch(event.data));
send({ type: 'ready' });
