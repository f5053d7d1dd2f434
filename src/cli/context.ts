/** What every subcommand needs: where it runs, where it writes, and the engine, made on first use. */
import { join } from 'node:path';
import type { HostOptions } from '../bench/client';
import type { Engine } from '../core/engine';
import { createEngine } from '../core/create-engine';
import { readGrammars } from '../project/grammars';
import type { Output } from './output';

export interface Context {
  /** Paths given and reported are relative to this folder. */
  readonly root: string;
  /** The folder of the built bundles: grammars, host, addon. */
  readonly dist: string;
  readonly output: Output;
  /** Where `check` keeps results unless it is told otherwise; null for nowhere. */
  readonly cacheFolder: string | null;
  /** Told how many files were checked anew, by a run that may leave something in the user's cache folder. */
  readonly onChecked: (files: number) => void;
  /** Made by the first call, whose share counts: see `createEngine`. */
  engine(share?: number): Promise<Engine>;
}

export function createContext(
  root: string,
  dist: string,
  output: Output,
  cacheFolder: string | null = null,
  onChecked: (files: number) => void = () => undefined,
): Context {
  let engine: Promise<Engine> | undefined;
  return {
    root,
    dist,
    output,
    cacheFolder,
    onChecked,
    engine: (share = 1) => (engine ??= createEngine(readGrammars(dist), share)),
  };
}

/** Where the benchmark's child process and the native addon are. */
export function hostOptions(context: Context): HostOptions {
  const addonPath = process.env['IKBO_ADDON'] ?? join(context.dist, 'ikbo.node');
  return { hostPath: join(context.dist, 'host.js'), addonPath };
}
