import { Heap } from './heap';
import type { FileModel } from './model';
import { Names } from './names';
import type { Frame } from './run';

/** A frame of a file in which nothing is known yet. */
export const frameOf = (file: FileModel): Frame => ({
  function: null,
  file,
  state: { names: new Names(), heap: new Heap(), path: [] },
  closure: null,
  depth: 0,
  call: null,
  caller: null,
  returns: [],
  building: false,
});
