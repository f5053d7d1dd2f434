import type { Event, State } from './state';

/** A piece of the page: built once, so that focus and cursors stay, and updated from the state. */
export interface View {
  readonly element: HTMLElement;
  update(state: State): void;
}

export type Dispatch = (event: Event) => void;

/** Calls `draw` only when one of the values it is drawn from is another one than last time. */
export function memo<T extends readonly unknown[]>(draw: (...values: T) => void): (...values: T) => void {
  let last: T | undefined;
  return (...values) => {
    if (last && last.every((value, index) => value === values[index])) return;
    last = values;
    draw(...values);
  };
}
