/** A finding's way from source to product, as boxes with sizes in words. */
import { pictureOf, type PictureBox } from '../../core/onnx';
import { evaluate, format } from '../../core/tensor/dim';
import type { ChainBox, ChainPicture } from '../../protocol/onnx';
import { formatBytes } from '../features/amounts';
import type { ModelDocument } from './document';

export function chainPicture(
  document: ModelDocument,
  rule: string,
  line: number,
  shapes: Readonly<Record<string, number>>,
): ChainPicture | null {
  const picture = document.read((model, text) => pictureOf(model, text, document.path, rule, line));
  if (!picture) return null;
  const box = ({ bytes, ...rest }: PictureBox): ChainBox => {
    const value = evaluate(bytes, (name) => shapes[name] ?? null);
    return { ...rest, bytes: value !== null ? formatBytes(value) : bytes ? `${format(bytes)} bytes` : null };
  };
  return { title: `${rule}: ${picture.finding.message}`, rows: picture.rows.map((row) => row.map(box)) };
}
