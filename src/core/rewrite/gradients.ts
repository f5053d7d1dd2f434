/** Which rewrites keep gradients: all, but for those under the condition that none are taken. */
import type { Rewrite } from '../finding';

export const keepsGradients = ({ conditions }: Pick<Rewrite, 'conditions'>): boolean =>
  conditions.every(({ kind }) => kind !== 'gradient');
