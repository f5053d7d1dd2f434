/** What the project on disk says about a folder: configuration and baseline, as on the command line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TorchVersion } from '../core/engine';
import type { Finding } from '../core/finding';
import { BaselineError, compareBaseline, parseBaseline, type Baseline } from '../project/baseline';
import { ConfigError, defaultConfig, findConfig, type Config } from '../project/config';
import { excluder, selector } from '../project/select';
import { torchVersion } from '../project/torch-version';
import { reportPath } from '../project/walk';
import type { Place } from './places';

export interface Project {
  readonly config: Config;
  /** The oldest PyTorch to run on; `python` is the interpreter of the client's settings, or empty. */
  torch(python: string): TorchVersion | null;
  /** True for documents that the configuration excludes. */
  excluded(place: Place): boolean;
  /** The findings of one whole document that are to be reported, at the configured levels. */
  select(place: Place, findings: readonly Finding[]): readonly Finding[];
}

export interface Projects {
  of(root: string | null): Project;
  forget(): void;
}

/** A wrong configuration or baseline is said once, through `complain`, and counts as none. */
export function createProjects(complain: (message: string) => void): Projects {
  const known = new Map<string, Project>();
  const said = new Set<string>();
  const attempt = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof BaselineError)) throw error;
      if (!said.has(error.message)) complain(error.message);
      said.add(error.message);
      return otherwise;
    }
  };
  return {
    of(root) {
      const key = root ?? '';
      const found = known.get(key);
      if (found) return found;
      const config = root === null ? defaultConfig('/') : attempt(() => findConfig(root), defaultConfig(root));
      const made = projectOf(
        config,
        attempt(() => readBaseline(config), undefined),
      );
      known.set(key, made);
      return made;
    },
    forget: () => known.clear(),
  };
}

function projectOf(config: Config, baseline: Baseline | undefined): Project {
  const select = selector(config);
  const excluded = excluder(config);
  const torch = new Map<string, TorchVersion | null>();
  const pathOf = ({ root, path }: Place) => (root === null ? path : reportPath(config.folder, join(root, path)));
  return {
    config,
    torch(python) {
      const known = torch.get(python);
      if (known !== undefined) return known;
      const found = torchVersion(config.folder, config.torch, python || null);
      torch.set(python, found);
      return found;
    },
    excluded: (place) => excluded(pathOf(place)),
    select(place, findings) {
      const path = pathOf(place);
      const selected = findings.flatMap((finding) => select(finding, path) ?? []);
      return baseline ? compareBaseline(baseline, selected, () => path).findings : selected;
    },
  };
}

function readBaseline({ folder, baseline }: Config): Baseline | undefined {
  if (baseline === null) return undefined;
  const file = join(folder, baseline);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined; // named before it was first written
  }
  return parseBaseline(file, text);
}
