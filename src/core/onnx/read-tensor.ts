/** Tensors and types. A tensor's values are not read: only where they lie. */
import type { FileDim, SparseTensor, Tensor, Type } from './model';
import { bytesText, spend, type Input } from './input';
import { OnnxError, type Window } from './source';
import { eachInt, frameOf, int32, int64, cursorOf, nextField, schemaOf, text, type Field, type Span } from './wire';

/** Most axes of a tensor; a longer list is not a shape. */
const MAX_RANK = 256;
const MAX_TYPE_DEPTH = 32;

const TENSOR = schemaOf({
  1: '02', 2: '0', 4: '25', 5: '02', 6: '2', 7: '02', 8: '2', 9: '2', 10: '12', 11: '02', 13: '2', 14: '0',
}); // prettier-ignore
const SPARSE = schemaOf({ 1: '2', 2: '2', 3: '02' });
const PAIR = schemaOf({ 1: '2', 2: '2' });
const TYPE = schemaOf({ 1: '2', 4: '2', 5: '2', 7: '2', 8: '2', 9: '2' });
const TENSOR_TYPE = schemaOf({ 1: '0', 2: '2' });
const MAP_KEY = schemaOf({ 1: '0' });
const DIM = schemaOf({ 1: '0', 2: '2' });

export function readTensor(input: Input, field: Field): Tensor {
  const window = input.window;
  let name = '';
  let element = 0;
  let raw: Span | null = null;
  let location = 0;
  const dims: number[] = [];
  const typed: { field: number; runs: { start: number; end: number }[] } = { field: 0, runs: [] };
  const external = new Map<string, string>();
  for (const part = cursorOf(frameOf(field, null, 'a tensor')); nextField(window, part, TENSOR);) {
    switch (part.number) {
      case 1:
        eachInt(window, part, (value) => dims.push(dimension(value, part, dims.length)));
        break;
      case 2:
        element = int32(window, part);
        break;
      case 4: // float_data
      case 5: // int32_data
      case 6: // string_data
      case 7: // int64_data
      case 10: // double_data
      case 11: {
        // uint64_data. Unpacked values are one field each: neighbours make one run.
        const last = typed.runs.at(-1);
        if (typed.field === part.number && last && last.end === part.tag) last.end = part.end;
        else {
          spend(input, part.tag);
          if (typed.field !== part.number) typed.runs = [];
          typed.field = part.number;
          typed.runs.push({ start: part.tag, end: part.end });
        }
        break;
      }
      case 8:
        name = text(window, part);
        break;
      case 9:
        raw = { start: part.start, end: part.end };
        break;
      case 13: {
        spend(input, part.tag);
        const [key, value] = readPair(window, part);
        external.set(key, value);
        break;
      }
      case 14:
        location = int32(window, part);
        break;
    }
  }
  return {
    name,
    element,
    dims,
    raw,
    typed: typed.runs.length > 0 ? typed : null,
    external: location === 1 ? externalOf(external) : null,
    span: { start: field.tag, end: field.end },
  };
}

function dimension(value: bigint, field: Field, index: number): number {
  if (index >= MAX_RANK) throw new OnnxError(`a tensor with more than ${MAX_RANK} axes`, field.tag);
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER))
    throw new OnnxError(`a tensor with a size of ${value}`, field.tag);
  return Number(value);
}

function externalOf(entries: ReadonlyMap<string, string>): Tensor['external'] {
  const length = entries.get('length');
  return {
    location: entries.get('location') ?? '',
    offset: Number(entries.get('offset') ?? 0),
    length: length === undefined ? null : Number(length),
  };
}

function readPair(window: Window, field: Field): [string, string] {
  let key = '';
  let value = '';
  for (const part = cursorOf(frameOf(field, null, 'an entry')); nextField(window, part, PAIR);) {
    if (part.number === 1) key = bytesText(window, part) ?? '';
    else if (part.number === 2) value = bytesText(window, part) ?? '';
  }
  return [key, value];
}

export function readSparse(input: Input, field: Field): SparseTensor {
  let values: Tensor | null = null;
  let indices: Tensor | null = null;
  const dims: number[] = [];
  for (const part = cursorOf(frameOf(field, null, 'a sparse tensor')); nextField(input.window, part, SPARSE);) {
    if (part.number === 1) values = readTensor(input, part);
    else if (part.number === 2) indices = readTensor(input, part);
    else if (part.number === 3) eachInt(input.window, part, (value) => dims.push(dimension(value, part, dims.length)));
  }
  return { values, indices, dims, span: { start: field.tag, end: field.end } };
}

export function readType(input: Input, field: Field, depth: number): Type | null {
  if (depth > MAX_TYPE_DEPTH) throw new OnnxError(`types nest deeper than ${MAX_TYPE_DEPTH}`, field.tag);
  const window = input.window;
  let type: Type | null = null;
  for (const part = cursorOf(frameOf(field, null, 'a type')); nextField(window, part, TYPE);) {
    spend(input, part.tag);
    if (part.number === 1) type = tensorType(input, part, 'tensor');
    else if (part.number === 8) type = tensorType(input, part, 'sparse');
    else if (part.number === 4) type = { kind: 'sequence', of: innerType(input, part, 1, depth) };
    else if (part.number === 9) type = { kind: 'optional', of: innerType(input, part, 1, depth) };
    else if (part.number === 5) type = { kind: 'map', key: mapKey(window, part), of: innerType(input, part, 2, depth) };
    else if (part.number === 7) type = { kind: 'opaque' };
  }
  return type;
}

function innerType(input: Input, field: Field, number: number, depth: number): Type | null {
  let type: Type | null = null;
  for (const part = cursorOf(frameOf(field, null, 'a type')); nextField(input.window, part, PAIR);) {
    if (part.number === number) type = readType(input, part, depth + 1);
  }
  return type;
}

function mapKey(window: Window, field: Field): number {
  let key = 0;
  for (const part = cursorOf(field); nextField(window, part, MAP_KEY);) key = int32(window, part);
  return key;
}

function tensorType(input: Input, field: Field, kind: 'tensor' | 'sparse'): Type {
  const window = input.window;
  let element = 0;
  let shape: FileDim[] | null = null;
  for (const part = cursorOf(frameOf(field, null, 'a tensor type')); nextField(window, part, TENSOR_TYPE);) {
    if (part.number === 1) element = int32(window, part);
    else if (part.number === 2) {
      shape ??= [];
      for (const axis = cursorOf(frameOf(part, null, 'a shape')); nextField(window, axis, PAIR);) {
        spend(input, axis.tag);
        if (axis.number === 1) shape.push(readDim(window, axis));
      }
    }
  }
  return { kind, element, shape };
}

function readDim(window: Window, field: Field): FileDim {
  let dim: FileDim = null;
  for (const part = cursorOf(frameOf(field, null, 'a size')); nextField(window, part, DIM);) {
    if (part.number === 1) dim = fileSize(int64(window, part));
    else if (part.number === 2) dim = text(window, part) || null;
  }
  return dim;
}

/** Exporters write -1 (and some 0 is a real size) for a size they do not know. */
function fileSize(value: bigint): FileDim {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null;
}
