import { analyse } from '../core/onnx/analyse';
import { readModel, type ByteSource } from '../core/onnx';
import { probeSizes } from '../core/onnx/probe';
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

/** Sizes that are stated for a model must be free sizes of its inputs: a slip would measure at another one. Throws UsageError. */
export function checkModelSizes(shown: string, source: ByteSource, stated: Readonly<Record<string, number>>): void {
  if (Object.keys(stated).length === 0) return;
  const names = [...probeSizes(analyse(readModel(source)), false).keys()];
  const unknown = Object.keys(stated).filter((name) => !names.includes(name));
  if (unknown.length === 0) return;
  const there = names.length > 0 ? `has ${names.join(', ')}` : 'leaves none open';
  throw new UsageError(`--shape: the inputs of ${shown} have no size ${unknown.join(', ')}; it ${there}`);
}
