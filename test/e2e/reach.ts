/** Waiting for what an interface does: to see it, and to do something again until it is seen. */
import type { Locator } from 'playwright-core';

/** Something to be seen: an element on the page, or whatever a function finds. */
export type Outcome = Locator | (() => unknown);

export const holds = async (outcome: Outcome): Promise<boolean> =>
  Boolean(await (typeof outcome === 'function' ? outcome() : outcome.first().isVisible()));

/** Whether it is seen within so many milliseconds. */
export async function seen(outcome: Outcome, milliseconds: number): Promise<boolean> {
  const end = Date.now() + milliseconds;
  while (!(await holds(outcome))) {
    if (Date.now() > end) return false;
    await new Promise((turn) => setTimeout(turn, 50));
  }
  return true;
}

export async function until(what: string, outcome: Outcome, milliseconds = 45_000): Promise<void> {
  if (!(await seen(outcome, milliseconds))) throw new Error(`waited ${milliseconds / 1000} s until ${what}`);
}

/** A test may take longer than this, so that it fails with what was not reached. */
const LONGEST = 75_000;

/**
 * Does `act` until `outcome` is seen. Menus, lists, the palette and hovers close whenever something else takes the focus or
 * the editor hears news of the file, and a key that was meant for them goes elsewhere: so all that goes through one of them is
 * one act, which begins by opening it, and which is done again from there when its outcome does not come.
 *
 * Each step of `act` waits for `patience` milliseconds at most, which grows from try to try, and throws. The outcome is looked
 * for before each try; after an act that went through, for `settle` milliseconds at least: what is merely slow must not be done
 * twice. Each further try is said in the output.
 */
export async function reach(
  what: string,
  outcome: Outcome,
  act: (patience: number) => Promise<unknown>,
  settle = 0,
): Promise<void> {
  const end = Date.now() + LONGEST;
  for (let patience = 2000; ; patience = Math.min(2 * patience, 10_000)) {
    if (await holds(outcome)) return;
    let lost = 'done, and nothing came of it';
    let wait = Math.max(patience, settle);
    try {
      await act(patience);
    } catch (error) {
      lost = firstLine(error);
      // The last step may have been heard all the same.
      wait = settle > 0 ? patience : 500;
    }
    if (await seen(outcome, wait)) return;
    if (Date.now() > end) throw new Error(`tried for ${LONGEST / 1000} s: ${what} (${lost})`);
    console.log(`      again: ${what} (${lost})`);
  }
}

/** Of a page's error also what it was waiting for, without the colours. */
function firstLine(error: unknown): string {
  // eslint-disable-next-line no-control-regex
  const text = String(error instanceof Error ? error.message : error).replace(/\x1b\[\d+m/g, '');
  return [/^.*/.exec(text)?.[0], /waiting for .*/.exec(text)?.[0]].filter(Boolean).join(' ');
}
