/** Modules that are known without their text, or for which no folder of a project is searched. */
import { canonicalName, operatorNamed } from '../tensor/operators';
import { FOREIGN } from './calls';
import type { ImportBinding } from './model';

export const EXTERNAL = /^(torch|torchvision|einops|xformers|flash_attn|operator|functools|copy|typing|math)(\.|$)/;

/** Modules of Python and its usual company. */
const INSTALLED =
  /^(__future__|abc|argparse|asyncio|bisect|contextlib|csv|ctypes|dataclasses|datetime|enum|gc|glob|gzip|hashlib|heapq|importlib|inspect|io|matplotlib|multiprocessing|networkx|pathlib|pickle|pytest|re|requests|shutil|signal|sklearn|socket|subprocess|tempfile|threading|tqdm|traceback|typing_extensions|types|unittest|urllib|uuid|wandb|warnings|weakref|yaml)(\.|$)/;

export const isKnown = (module: string): boolean =>
  EXTERNAL.test(module) || FOREIGN.test(module) || INSTALLED.test(module);

/** Does an import bring what is known without its text: a library that the engine knows, or one without tensors? */
export const isOutside = ({ module }: ImportBinding): boolean => isKnown(module);

/** In a library of attention's own repository all but its products, which are known by name, is code like any other. */
export const isOwnOfKnown = (path: string): boolean =>
  /^(xformers|flash_attn)\./.test(path) && operatorNamed(canonicalName(path)) === null;
