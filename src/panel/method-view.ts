/** How to measure: device, data type, grouping, regime, time. */
import { REGIMES, type DeviceInfo, type Dtype, type Grouping } from '../protocol/bench';
import { fill, h, setText } from './dom';
import { deviceOf, dtypesOf } from './state';
import { memo, type Dispatch, type View } from './view';

const GROUPINGS: readonly { readonly id: Grouping; readonly title: string }[] = [
  { id: 'uniform', title: 'Equal groups' },
  { id: 'uneven', title: 'Uneven groups' },
  { id: 'unsorted', title: 'Unsorted index' },
];

export function methodView(dispatch: Dispatch): View {
  const device = h('select', { id: 'device' }) as HTMLSelectElement;
  const deviceNote = h('div.note', { id: 'device-note' });
  const dtype = h('select', { id: 'dtype' }) as HTMLSelectElement;
  const grouping = h(
    'select',
    { id: 'grouping' },
    ...GROUPINGS.map(({ id, title }) => h('option', { value: id }, title)),
  ) as HTMLSelectElement;
  const seconds = h('input', { id: 'seconds', type: 'number', min: 1, max: 600, step: 1 }) as HTMLInputElement;
  const regimes = REGIMES.map(({ id, title, what, how }) => {
    const box = h('input', { type: 'checkbox', id: `regime-${id}` }) as HTMLInputElement;
    box.addEventListener('change', () => dispatch({ type: 'regime', regime: id, on: box.checked }));
    return { id, box, row: h('label.box', { title: how }, box, h('span', {}, h('b', {}, title), ` ${what}`)) };
  });
  device.setAttribute('aria-describedby', deviceNote.id);
  device.addEventListener('change', () => dispatch({ type: 'device', id: device.value }));
  dtype.addEventListener('change', () => dispatch({ type: 'dtype', dtype: dtype.value as Dtype }));
  grouping.addEventListener('change', () => dispatch({ type: 'grouping', grouping: grouping.value as Grouping }));
  seconds.addEventListener('change', () => {
    if (seconds.validity.valid && seconds.value !== '') dispatch({ type: 'seconds', seconds: seconds.valueAsNumber });
  });

  const drawDevices = memo((devices: readonly DeviceInfo[], notes: readonly string[]) => {
    fill(device, ...devices.map(({ id, name }) => h('option', { value: id }, `${id}: ${name}`)));
    if (devices.length === 0) fill(device, h('option', { value: '' }, 'looking for devices …'));
    deviceNote.title = notes.join('\n');
  });
  const drawDtypes = memo((id: string | null, kinds: string) =>
    fill(dtype, ...kinds.split(' ').map((kind) => h('option', { value: kind, 'data-device': id ?? '' }, kind))),
  );
  const row = (label: string, input: HTMLElement) => h('div.row', {}, h('label', { for: input.id }, label), input);
  return {
    element: h(
      'section',
      { role: 'group', 'aria-labelledby': 'method' },
      h('h2.heading', { id: 'method' }, 'Method'),
      row('Device', device),
      deviceNote,
      row('Data type', dtype),
      row('Candidates', grouping),
      row('Seconds', seconds),
      h('div.regimes', { role: 'group', 'aria-label': 'Regime' }, ...regimes.map(({ row: line }) => line)),
    ),
    update(state) {
      drawDevices(state.devices, state.notes);
      drawDtypes(state.device, dtypesOf(deviceOf(state)).join(' '));
      device.value = state.device ?? '';
      dtype.value = state.dtype;
      grouping.value = state.grouping;
      if (document.activeElement !== seconds) seconds.value = String(state.seconds);
      for (const { id, box } of regimes) box.checked = state.regimes.includes(id);
      setText(deviceNote, [deviceOf(state)?.detail ?? '', ...state.notes].filter(Boolean).join(' · '));
      const busy = state.progress !== null;
      for (const input of [device, dtype, grouping, seconds, ...regimes.map(({ box }) => box)]) input.disabled = busy;
    },
  };
}
