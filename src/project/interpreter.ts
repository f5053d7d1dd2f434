import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where a virtual environment has its interpreter. */
const IN_ENVIRONMENT = process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python';

/**
 * The Python that user code runs in: the one that is named, else IKBO_PYTHON, else that of the active virtual environment,
 * else that of the project (`.venv`), else `python3`.
 */
export function findPython(root: string, named: string | null): string {
  if (named) return named;
  const { IKBO_PYTHON, VIRTUAL_ENV } = process.env;
  if (IKBO_PYTHON) return IKBO_PYTHON;
  const environments = [...(VIRTUAL_ENV ? [VIRTUAL_ENV] : []), join(root, '.venv')];
  return environments.map((folder) => join(folder, IN_ENVIRONMENT)).find((path) => existsSync(path)) ?? 'python3';
}
