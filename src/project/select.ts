/** Which findings a configuration lets through, and at which level. */
import ignore from 'ignore';
import type { Finding } from '../core/finding';
import type { Config } from './config';

/** `path` is the finding's file relative to the configuration's folder. */
export type Selector = (finding: Finding, path: string) => Finding | undefined;

/** Makes the filter, once per configuration. */
export function selector(config: Config): Selector {
  const perFile = Object.entries(config.perFileIgnores).map(([pattern, codes]) => ({
    match: ignore().add(pattern),
    codes,
  }));
  return (finding, path) => {
    const code = finding.rule;
    if (config.select && !hasPrefix(code, config.select)) return undefined;
    if (hasPrefix(code, config.ignore)) return undefined;
    if (perFile.some(({ match, codes }) => hasPrefix(code, codes) && isInside(path) && match.ignores(path)))
      return undefined;
    const level = config.severity[code];
    return level === undefined ? finding : { ...finding, level };
  };
}

/** True for files that `exclude` names. `path` is relative to the configuration's folder. */
export function excluder(config: Config): (path: string) => boolean {
  const match = ignore().add([...config.exclude]);
  return (path) => isInside(path) && match.ignores(path);
}

/** The pattern matcher knows only paths below its folder. */
const isInside = (path: string): boolean =>
  path !== '' && path !== '.' && !path.startsWith('../') && !path.startsWith('/');

const hasPrefix = (code: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => code.startsWith(prefix));
