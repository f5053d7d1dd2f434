/** Imported first, so that the time of loading everything else is seen. */
export const loadBegan = performance.now();
