/**
 * The texts of models as read-only files of the scheme `ikbo-onnx` (`protocol/onnx.ts`). A file system and not a content
 * provider, so that the editor starts the extension for texts that were open before it was closed.
 */
import * as vscode from 'vscode';
import { MODEL_SCHEME, MODEL_TEXT_REQUEST, type ModelText } from '../../protocol/onnx';
import type { Server } from '../server';

/** The text of a model file. */
export const textOfModel = (file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: MODEL_SCHEME, path: file.path.replace(/\.onnx$/, '') + '.onnxtxt' });

/** The model file of a text. */
export const modelOfText = (text: vscode.Uri): vscode.Uri =>
  text.with({ scheme: 'file', path: text.path.replace(/txt$/, ''), query: '' });

export const isModelText = (uri: vscode.Uri): boolean => uri.scheme === MODEL_SCHEME;

interface Cached {
  readonly stat: vscode.FileStat;
  readonly bytes: Uint8Array;
}

export function registerModelFiles(server: Server): vscode.Disposable {
  const changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  const cache = new Map<string, Promise<Cached>>();

  const load = async (uri: vscode.Uri): Promise<Cached> => {
    const { ctime, mtime } = await vscode.workspace.fs.stat(modelOfText(uri));
    const answer = await server.request<ModelText>(MODEL_TEXT_REQUEST, { uri: uri.toString() });
    const bytes = new TextEncoder().encode(answer?.text ?? '# the language server of IKBO Lens does not run\n');
    return { stat: { type: vscode.FileType.File, ctime, mtime, size: bytes.length }, bytes };
  };
  const get = (uri: vscode.Uri): Promise<Cached> => {
    const key = uri.toString();
    const known = cache.get(key);
    if (known) return known;
    const fresh = load(uri);
    cache.set(key, fresh);
    fresh.catch(() => cache.delete(key));
    return fresh;
  };
  const readOnly = (): never => {
    throw vscode.FileSystemError.NoPermissions('the text of a model is only read; rewrite the model instead');
  };
  const provider: vscode.FileSystemProvider = {
    onDidChangeFile: changed.event,
    watch: () => new vscode.Disposable(() => undefined),
    stat: async (uri) => (await get(uri)).stat,
    readFile: async (uri) => (await get(uri)).bytes,
    readDirectory: () => [],
    createDirectory: readOnly,
    writeFile: readOnly,
    delete: readOnly,
    rename: readOnly,
  };
  /** A model that has changed on disk has another text, and so have the previews of its rewrites. */
  const refresh = (file: vscode.Uri): void => {
    const gone = [...cache.keys()]
      .map((key) => vscode.Uri.parse(key))
      .filter((uri) => modelOfText(uri).path === file.path);
    for (const uri of gone) cache.delete(uri.toString());
    changed.fire(gone.map((uri) => ({ type: vscode.FileChangeType.Changed, uri })));
  };
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.onnx');
  const closed = vscode.workspace.onDidCloseTextDocument(({ uri }) => cache.delete(uri.toString()));
  return vscode.Disposable.from(
    changed,
    watcher,
    closed,
    watcher.onDidChange(refresh),
    watcher.onDidCreate(refresh),
    vscode.workspace.registerFileSystemProvider(MODEL_SCHEME, provider, { isReadonly: true, isCaseSensitive: true }),
  );
}
