/** What the readers of messages share: the window and the budget. */
import { OnnxError, type Window } from './source';
import { MAX_TEXT, text, type Field } from './wire';

/** Most records of a model. An LLM has about a million; a hostile file must not fill the memory with empty ones. */
const MAX_RECORDS = 8_000_000;

export interface Input {
  readonly window: Window;
  records: number;
}

export function spend(input: Input, offset: number): void {
  if (++input.records > MAX_RECORDS) throw new OnnxError(`more than ${MAX_RECORDS} records`, offset);
}

/** Text of a bytes field, or null when it is too long to be text. */
export function bytesText(window: Window, field: Field): string | null {
  return field.end - field.start > MAX_TEXT ? null : text(window, field);
}
