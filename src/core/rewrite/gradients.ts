/** Which rewrites keep gradients: all, but for those whose condition says that none may be taken. */
import type { Rewrite } from '../finding';

/** How such a condition begins. */
export const NO_GRADIENT = 'no gradient';

export const keepsGradients = ({ reason }: Pick<Rewrite, 'reason'>): boolean =>
  !reason?.toLowerCase().includes(NO_GRADIENT);
