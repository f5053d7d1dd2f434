/** Places of notebooks for people (`model.ipynb:cell 3:12`) and for tools that only know files. */
import type { Finding, Site } from '../core/finding';
import { sourcesOf, textOfSource } from './source';

export const placeText = ({
  path,
  cell,
  line,
}: {
  readonly path: string;
  readonly cell?: number;
  readonly line: number;
}) => `${path}${cell === undefined ? '' : `:cell ${cell}`}:${line}`;

/** The lines of the text that a site counts in: its cell's, or the file's. */
export function linesAround(site: Pick<Site, 'cell'>, text: string): string[] {
  const source = site.cell === undefined ? null : sourcesOf(text)[site.cell - 1];
  return (source ? textOfSource(source) : text).split(/\r\n|\r|\n/);
}

/** The site as lines and columns of the file. Of a source that is one string, it is that whole line of JSON. */
export function siteInFile<T extends Site>(site: T, text: string): Omit<T, 'cell'> {
  const { cell, ...rest } = site;
  const source = cell === undefined ? null : sourcesOf(text)[cell - 1];
  if (!source) return rest;
  const place = (line: number, column: number) => {
    const unit = source.units[Math.min(line, source.units.length) - 1];
    const before = text.slice(0, unit?.start ?? source.open).split(/\r\n|\r|\n/);
    // Characters that JSON escapes shift what follows them; the quote is one more.
    const inside = JSON.stringify((unit?.text ?? '').slice(0, column - 1)).length - (source.kind === 'text' ? 2 : 1);
    return { line: before.length, column: (before.at(-1) ?? '').length + inside + 1 };
  };
  const [from, to] = [place(site.line, site.column), place(site.endLine, site.endColumn)];
  return { ...rest, line: from.line, column: from.column, endLine: to.line, endColumn: to.column };
}

/** A finding for tools that only know files: every site and step in the file. `texts` has the notebooks. */
export function findingInFile(finding: Finding, texts: ReadonlyMap<string, string>): Finding {
  if (finding.cell === undefined) return finding;
  const site = <T extends Site>(one: T): T => siteInFile(one, texts.get(one.path) ?? '') as T;
  const chain = finding.chain.map((step) => {
    const { line } = site({ ...step, column: 1, endLine: step.line, endColumn: 1 });
    return { path: step.path, line, what: step.what };
  });
  const { broadcast, written, consumer } = finding;
  const sites = { broadcast: site(broadcast), written: written && site(written), consumer: site(consumer) };
  return { ...site(finding), ...sites, chain };
}
