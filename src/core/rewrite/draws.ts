/** Dropout between copies and a product: in training it makes them different, in evaluation it is not there. */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, lineOf } from '../python/syntax';
import { sharedDraw } from './conditions';
import { shortly } from './edit';
import { callOf } from './expression';
import { constructorOf } from './row-wise';

/** Where the copies are multiplied, or carried behind their product, after one draw instead of many; unless `given` says so. */
export function conditionsOfDraws({ path }: Match, given: readonly Condition[]): readonly Condition[] {
  return path.some(({ kind }) => kind === 'draw') && given.every(({ kind }) => kind !== 'shared-draw')
    ? [sharedDraw('all copies of a row', 'dropout')]
    : [];
}

/** Why what stands between a concatenation and its product keeps the blocks together. */
export function worksBetween(between: Node): string {
  const call = callOf(between);
  const made = call && /^self\.\w+$/.test(call.name) ? constructorOf(call.node, call.name) : null;
  const dropout = /(^|\.)dropout$/.test(call?.name ?? '') || /Dropout$/.test((made && callOf(made)?.name) ?? '');
  const place = `\`${shortly(between)}\` (line ${lineOf(between)})`;
  return dropout
    ? `${place} drops elements of the concatenation: in training, each copy gets a draw of its own`
    : `${place} works on the concatenation before the product`;
}
