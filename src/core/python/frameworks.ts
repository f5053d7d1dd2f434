/** Which tensors a file is about: those of other libraries have methods of the same names. */

const OTHER = /^[ \t]*(?:import|from)[ \t]+(?:tensorflow|jax|flax|keras|paddle|mindspore|mxnet)\b/m;
const TORCH = /^[ \t]*(?:import|from)[ \t]+torch/m;

/** Could it hold tensors of PyTorch? One that imports another library, and PyTorch nowhere, mentions it in its documentation. */
export const isOfTorch = (text: string): boolean => text.includes('torch') && (!OTHER.test(text) || TORCH.test(text));
