/** The bundle that `launch.ts` loads. */
export { run } from './main';
export { serve } from './worker';
