// Finds the tools that some groups of tests need, and says how to get those that are missing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './packages.mjs';

const runs = (command, args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** The Python that tests and the demo use: IKBO_PYTHON, else .venv, else python3. */
export function python() {
  const venv = join(root, '.venv/bin/python');
  return process.env.IKBO_PYTHON ?? (existsSync(venv) ? venv : 'python3');
}

/** The folder of the VS Code that editor tests use. */
export function editor() {
  return process.env.IKBO_EDITOR ?? join(root, '.cache/editor');
}

/** Per tool: null when it is there, else one line that says what is missing and how to get it. */
export const missing = {
  native: () =>
    runs('cmake', ['--version']) &&
    runs('ninja', ['--version']) &&
    (runs('g++', ['--version']) || runs('c++', ['--version']))
      ? null
      : 'no C++ toolchain: install cmake, ninja and g++ 12 or newer (Debian: apt-get install cmake ninja-build g++ libgtest-dev)',
  nvcc: () =>
    runs('nvcc', ['--version'])
      ? null
      : 'no nvcc: install the CUDA toolkit 12.4 or newer, or set PATH to its bin folder',
  torch: () =>
    runs(python(), ['-c', 'import torch, numpy'])
      ? null
      : `no PyTorch in ${python()}: python3 -m venv .venv && .venv/bin/pip install torch==2.13.0 numpy (or set IKBO_PYTHON)`,
  editor: () =>
    existsSync(join(editor(), 'ready')) && existsSync('/usr/bin/chromium')
      ? null
      : `no editor for tests in ${editor()}: run scripts/setup-editor.sh .cache/editor (or set IKBO_EDITOR)`,
};

/** The tools whose absence is a failure: IKBO_REQUIRE=native,torch,editor,nvcc. */
export const required = new Set((process.env.IKBO_REQUIRE ?? '').split(',').filter(Boolean));
