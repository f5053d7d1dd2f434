/** All that the panel knows, and how each event changes it. Pure: views are drawn from the state alone. */
import type { BenchResult, DeviceInfo, Dtype, Grouping, Regime } from '../protocol/bench';
import { checkDims, LARGEST_DIM, OPS } from '../protocol/dims';
import type { Choice, Failure, ModelChoice, RunRequest, ToPanel } from '../protocol/panel';

export interface Progress {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

export interface State {
  readonly choices: readonly Choice[];
  readonly choice: Choice | null;
  /** As typed: empty for a size that is not known. */
  readonly sizes: Readonly<Record<string, string>>;
  /** Of the inputs of the model that the finding is in, as typed. */
  readonly modelSizes: Readonly<Record<string, string>>;
  readonly devices: readonly DeviceInfo[];
  readonly notes: readonly string[];
  /** Null while the devices are being asked for. */
  readonly device: string | null;
  readonly preferredDevice: string;
  readonly dtype: Dtype;
  readonly grouping: Grouping;
  readonly regimes: readonly Regime[];
  readonly seconds: number;
  readonly trusted: boolean;
  /** Null when nothing runs. */
  readonly progress: Progress | null;
  readonly failure: Failure | null;
  /** Finished runs of this panel, oldest first. */
  readonly results: readonly BenchResult[];
  /** Runs from elsewhere. */
  readonly recorded: readonly BenchResult[];
  /** One of either. */
  readonly shown: BenchResult | null;
  readonly regimeShown: Regime | null;
  /** One sentence for the status line. */
  readonly said: string;
}

export type Event =
  | ToPanel
  | { readonly type: 'choose'; readonly id: string }
  | { readonly type: 'size'; readonly name: string; readonly text: string }
  | { readonly type: 'modelSize'; readonly name: string; readonly text: string }
  | { readonly type: 'device'; readonly id: string }
  | { readonly type: 'dtype'; readonly dtype: Dtype }
  | { readonly type: 'grouping'; readonly grouping: Grouping }
  | { readonly type: 'regime'; readonly regime: Regime; readonly on: boolean }
  | { readonly type: 'seconds'; readonly seconds: number }
  | { readonly type: 'started' }
  | { readonly type: 'show'; readonly result: BenchResult }
  | { readonly type: 'showRegime'; readonly regime: Regime };

export const INITIAL: State = {
  choices: [],
  choice: null,
  sizes: {},
  modelSizes: {},
  devices: [],
  notes: [],
  device: null,
  preferredDevice: '',
  dtype: 'bf16',
  grouping: 'uniform',
  regimes: ['flush'],
  seconds: 5,
  trusted: true,
  progress: null,
  failure: null,
  results: [],
  recorded: [],
  shown: null,
  regimeShown: null,
  said: '',
};

/** Data types that the bundled kernels of a device have; the first is preferred. */
export function dtypesOf(device: DeviceInfo | undefined): readonly Dtype[] {
  return device?.kind === 'cuda' ? ['bf16', 'fp16'] : ['fp32', 'bf16'];
}

export function deviceOf(state: State): DeviceInfo | undefined {
  return state.devices.find(({ id }) => id === state.device);
}

/** Sizes as numbers, null where the text is none. */
export function dimsOf(state: State): Record<string, number | null> {
  const names = state.choice ? OPS[state.choice.op].dims.map(({ name }) => name) : [];
  return Object.fromEntries(names.map((name) => [name, sizeOf(state.sizes[name] ?? '')]));
}

/** The model to run besides, or null while one of its sizes is missing or wrong. */
export function modelOf({ choice, modelSizes }: State): ModelChoice | null {
  if (!choice?.model) return null;
  const sizes: Record<string, number> = {};
  for (const name of Object.keys(choice.model)) {
    const size = sizeOf(modelSizes[name] ?? '');
    if (size === null || !isSize(size)) return null;
    sizes[name] = size;
  }
  return { choice: choice.id, sizes };
}

export const isSize = (size: number): boolean => Number.isInteger(size) && size >= 0 && size <= LARGEST_DIM;

/** The request to send, or null while something in the form is wrong. */
export function requestOf(state: State): RunRequest | null {
  const { choice, device, dtype, grouping, regimes, seconds } = state;
  if (!choice || device === null || regimes.length === 0) return null;
  const dims: Record<string, number> = {};
  const typed = dimsOf(state);
  if (Object.keys(checkDims(choice.op, typed)).length > 0) return null;
  for (const [name, size] of Object.entries(typed)) if (size !== null) dims[name] = size;
  return { op: choice.op, dims, dtype, grouping, device, regimes, seconds, model: modelOf(state) };
}

export function reduce(state: State, event: Event): State {
  switch (event.type) {
    case 'setup': {
      const { trusted, device: preferredDevice } = event;
      const wanted = event.selected ?? state.choice?.id;
      const offered = event.choices.find(({ id }) => id === wanted);
      // What is being measured stays, with its sizes: its file may be closed, or in a notebook, or its line may have moved.
      const kept = offered || event.selected !== null ? null : state.choice;
      const choices = kept ? [kept, ...event.choices] : event.choices;
      const next = { ...state, choices, trusted, preferredDevice };
      const choice = offered ?? kept ?? choices[0] ?? null;
      return choice && (event.selected !== null || choice.id !== state.choice?.id) ? choose(next, choice) : next;
    }
    case 'choose': {
      const choice = state.choices.find(({ id }) => id === event.id);
      return choice ? choose(state, choice) : state;
    }
    case 'devices': {
      if (!event.found) return { ...state, failure: event.failure };
      const { devices, notes } = event.found;
      const best = [state.preferredDevice, devices.find(({ kind }) => kind === 'cuda')?.id, devices[0]?.id];
      const device = best.find((id) => devices.some((known) => known.id === id)) ?? null;
      return withDevice({ ...state, devices, notes, failure: null }, device);
    }
    case 'recorded':
      return { ...state, recorded: event.results };
    case 'size':
      return { ...state, sizes: { ...state.sizes, [event.name]: event.text } };
    case 'modelSize':
      return { ...state, modelSizes: { ...state.modelSizes, [event.name]: event.text } };
    case 'dims':
      return state.choice?.id === event.choice ? { ...state, sizes: { ...state.sizes, ...texts(event.dims) } } : state;
    case 'device':
      return withDevice(state, event.id);
    case 'dtype':
      return { ...state, dtype: event.dtype };
    case 'grouping':
      return { ...state, grouping: event.grouping };
    case 'regime': {
      const others = state.regimes.filter((regime) => regime !== event.regime);
      return { ...state, regimes: event.on ? [...others, event.regime] : others };
    }
    case 'seconds':
      return { ...state, seconds: event.seconds };
    case 'started':
      return { ...state, progress: { stage: 'starting', done: 0, total: 0 }, failure: null, said: 'Running.' };
    case 'progress':
      return state.progress
        ? { ...state, progress: { stage: event.stage, done: event.done, total: event.total } }
        : state;
    case 'result': {
      const results = [...state.results, event.result];
      return { ...show(state, event.result), results, progress: null, failure: null, said: 'Done.' };
    }
    case 'failed':
      return { ...state, progress: null, failure: event.failure, said: '' };
    case 'cancelled':
      return { ...state, progress: null, failure: null, said: 'Cancelled. Nothing was recorded.' };
    case 'show':
      return show(state, event.result);
    case 'showRegime':
      return { ...state, regimeShown: event.regime };
  }
}

const texts = (sizes: Readonly<Record<string, number | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, size?.toString() ?? '']));

function choose(state: State, choice: Choice): State {
  const dtype = choice.dtype && dtypesOf(deviceOf(state)).includes(choice.dtype) ? choice.dtype : state.dtype;
  return {
    ...state,
    choice,
    sizes: texts(choice.dims),
    modelSizes: texts(choice.model ?? {}),
    dtype,
    grouping: choice.grouping ?? state.grouping,
  };
}

function withDevice(state: State, device: string | null): State {
  const next = { ...state, device };
  const dtypes = dtypesOf(deviceOf(next));
  return dtypes.includes(state.dtype) ? next : { ...next, dtype: dtypes[0] ?? state.dtype };
}

function show(state: State, result: BenchResult): State {
  return { ...state, shown: result, regimeShown: result.request.regimes[0] ?? null };
}

/** "1,024", "1_024" and "2^10" are sizes too. Null for what is none, NaN for text that is no number. */
export function sizeOf(text: string): number | null {
  const plain = text.replace(/[\s,_]/g, '');
  if (plain === '') return null;
  const power = /^(\d+)\^(\d+)$/.exec(plain);
  return power ? Number(power[1]) ** Number(power[2]) : Number(plain);
}
