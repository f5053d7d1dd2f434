/** Copies that are joined along an axis of which it is not known whether it is the last one. */
import type { Match } from './match';

/** `torch.cat([u, item], 1)` where nothing says how many axes they have: the axis; null where they are plainly rows. */
export function joinedAlong({ form, replicas: [replica] }: Match): number | null {
  return form && form.axis !== null && form.axis > 0 && replica?.rank === null ? form.axis : null;
}
