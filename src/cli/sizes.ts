import { UsageError } from './output';

/** `B=1024,U=15`, the value of --shape; symbols of a model may be any text. Throws UsageError. */
export function parseSizes(text: string): Record<string, number> {
  if (text === '') return {};
  return Object.fromEntries(
    text.split(',').map((part) => {
      const match = /^\s*([^\s\d=][^=]*?)\s*=\s*(\d+)\s*$/.exec(part);
      if (!match?.[1]) throw new UsageError(`--shape: "${part}" is not NAME=SIZE, as in B=1024,U=15`);
      return [match[1], Number(match[2])];
    }),
  );
}
