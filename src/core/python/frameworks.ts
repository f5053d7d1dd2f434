/** Which tensors a file is about: those of other libraries have methods of the same names. */

const OTHERS = ['tensorflow', 'jax', 'flax', 'keras', 'paddle', 'mindspore', 'mxnet'];
const OTHER = new RegExp(`^[ \\t]*(?:import|from)[ \\t]+(?:${OTHERS.join('|')})\\b`, 'm');
const TORCH = /^[ \t]*(?:import|from)[ \t]+torch/m;

/** Could it hold tensors of PyTorch? One that imports another library, and PyTorch nowhere, mentions it in its documentation. */
export const isOfTorch = (text: string): boolean =>
  text.includes('torch') && !(OTHERS.some((name) => text.includes(name)) && OTHER.test(text) && !TORCH.test(text));
