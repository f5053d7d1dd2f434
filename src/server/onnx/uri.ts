/** URIs of models shown as text; `protocol/onnx.ts` says what they look like. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MODEL_SCHEME } from '../../protocol/onnx';

export interface ModelUri {
  /** The .onnx file. */
  readonly file: string;
  /** Which rewrites the text shows applied, all when empty; null for the model as it is. */
  readonly only: readonly string[] | null;
  /** With standard operators, or with those of ai.ikbo. */
  readonly target: 'standard' | 'ikbo';
}

/** Null for any other URI. */
export function parseModelUri(uri: string): ModelUri | null {
  try {
    const { protocol, pathname, search } = new URL(uri);
    if (protocol !== `${MODEL_SCHEME}:` || !pathname.endsWith('.onnxtxt')) return null;
    const query = decodeURIComponent(search);
    const only = /[?&]only=([^&]*)/.exec(query)?.[1];
    return {
      file: fileURLToPath(`file://${pathname.slice(0, -'txt'.length)}`),
      only: only === undefined ? null : only.split(',').filter((id) => id !== ''),
      target: /[?&]target=ikbo\b/.test(query) ? 'ikbo' : 'standard',
    };
  } catch {
    return null;
  }
}

export const modelTextUri = (file: string): string =>
  `${MODEL_SCHEME}:${pathToFileURL(file).pathname.replace(/\.onnx$/, '')}.onnxtxt`;
