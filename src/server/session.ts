/** What all features share: the open documents and their analyses, each computed at most once per state of the project. */
import { isAbsolute, join, relative, sep } from 'node:path';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { CheckOptions, Engine, FileSource } from '../core/engine';
import { createRecent } from '../core/recent';
import type { Finding, Note } from '../core/finding';
import { hashText, type TextHash } from '../project/cache';
import { createNaming } from '../project/naming';
import { namingFolders } from '../project/scope';
import { readText } from '../project/read-text';
import type { LensDocument } from './documents';
import type { Place } from './places';
import type { Projects } from './projects';
import { isSelected, type Settings } from './settings';

export interface Checked {
  readonly version: number;
  readonly findings: readonly Finding[];
  readonly notes: readonly Note[];
  /** False for a model that cannot be read: the note says why. */
  readonly parsed: boolean;
}

export interface Session {
  readonly engine: Engine;
  /** The analysis of the document as it is now. Synchronous and cached. */
  check(document: LensDocument): Checked;
  /** The same without rewrites: what has to be there at once after an edit. */
  find(document: LensDocument): Checked;
  /** What `Engine.check` needs to come to the same findings for another text of this document. */
  options(document: LensDocument): CheckOptions;
  /** The size bindings of the project that a place belongs to. */
  shapes(place: Place): Readonly<Record<string, number>>;
  /** A file of the document's project: as open in the client, else as on disk, undefined where there is none. */
  file(document: LensDocument, path: string): TextDocument | undefined;
  /** Settings or a configuration changed: nothing that was found out holds any more. */
  forget(): void;
  /** Files on disk may have changed. */
  forgetFiles(): void;
  /** Open documents whose results rest on what other files no longer say; those results are dropped. */
  outdated(): readonly LensDocument[];
}

export interface SessionParts {
  readonly engine: Engine;
  readonly projects: Projects;
  readonly documents: () => readonly LensDocument[];
  /** The folders of the workspace: imports of one may be of another. */
  readonly folders: () => readonly string[];
  readonly settings: (uri: string) => Settings;
}

const NOTHING = { findings: [], notes: [], parsed: true } as const;

/** Characters of files on disk that are kept. */
const ON_DISK = 5_000_000;

export function createSession({ engine, projects, documents, folders, settings }: SessionParts): Session {
  let checked = new WeakMap<LensDocument, Checked>();
  let found = new WeakMap<LensDocument, Checked>();
  /** Files that a document's last analysis asked for, by path, with hashes of their texts. */
  let asked = new WeakMap<LensDocument, ReadonlyMap<string, TextHash>>();
  const hashes = new WeakMap<TextDocument, { readonly version: number; readonly hash: TextHash }>();
  const onDisk = createRecent<string, { readonly text: TextDocument | undefined }>(ON_DISK);

  const hashOf = (text: TextDocument | undefined): TextHash => {
    if (!text) return null;
    const known = hashes.get(text);
    if (known?.version === text.version) return known.hash;
    const hash = hashText(text.getText());
    hashes.set(text, { version: text.version, hash });
    return hash;
  };

  const namings = new Map<string, (name: string) => readonly string[]>();
  /** Files on disk that construct a class. */
  const namingFor = ({ place: { root } }: LensDocument): Pick<FileSource, 'naming'> => {
    if (root === null) return {};
    const naming = namings.get(root) ?? createNaming(root, namingFolders(root, [root]));
    namings.set(root, naming);
    return { naming };
  };

  const file = (document: LensDocument, path: string): TextDocument | undefined => {
    const root = document.place.root;
    if (path === document.place.path) return document.text;
    if (root === null) return undefined;
    const key = join(root, path);
    const open = documents().find(
      (other) => other.place.root !== null && join(other.place.root, other.place.path) === key,
    );
    if (open) return open.text;
    const known = onDisk.get(key);
    if (known) return known.text;
    const read = readText(key);
    const text = 'text' in read ? TextDocument.create(path, 'python', 0, read.text) : undefined;
    onDisk.set(key, { text }, 'text' in read ? read.text.length : 0);
    return text;
  };
  /** The other folders, as seen from the document's. */
  const rootsOf = ({ place: { root } }: LensDocument): readonly string[] =>
    folders().flatMap((folder) => {
      const path = root === null || folder === root ? '' : relative(root, folder);
      return path === '' || isAbsolute(path) ? [] : [path.split(sep).join('/')];
    });
  const options = (document: LensDocument): CheckOptions => {
    const project = projects.of(document.place.root);
    const { config } = project;
    const own = settings(document.uri);
    const torch = project.torch(own.python);
    return {
      hints: own.hints || config.hints,
      shapes: config.shapes,
      ...(torch && { torch }),
      files: { read: (path) => file(document, path)?.getText(), roots: rootsOf(document), ...namingFor(document) },
    };
  };
  const analyse = (document: LensDocument, rewrites: boolean): Omit<Checked, 'version'> => {
    const { uri, place, tree } = document;
    const own = settings(uri);
    const project = projects.of(place.root);
    if (!own.enable || project.excluded(place)) return NOTHING;
    const used = new Map<string, TextHash>();
    const read = (path: string): string | undefined => {
      const text = file(document, path);
      if (!used.has(path)) used.set(path, hashOf(text));
      return text?.getText();
    };
    const { findings, notes, parsed } = tree.check({
      ...options(document),
      rewrites,
      files: { read, roots: rootsOf(document), ...namingFor(document) },
    });
    asked.set(document, used);
    return { findings: project.select(place, findings).filter((finding) => isSelected(finding, own)), notes, parsed };
  };
  return {
    engine,
    options,
    shapes: ({ root }) => projects.of(root).config.shapes,
    file,
    check(document) {
      const { version } = document.text;
      const known = checked.get(document);
      if (known?.version === version) return known;
      const fresh = { version, ...analyse(document, true) };
      checked.set(document, fresh);
      return fresh;
    },
    find(document) {
      const { version } = document.text;
      const known = [checked, found].map((map) => map.get(document)).find((one) => one?.version === version);
      if (known) return known;
      const fresh = { version, ...analyse(document, false) };
      found.set(document, fresh);
      return fresh;
    },
    forget() {
      checked = new WeakMap();
      found = new WeakMap();
      asked = new WeakMap();
      onDisk.clear();
      namings.clear();
      projects.forget();
    },
    forgetFiles() {
      onDisk.clear();
      namings.clear();
    },
    outdated() {
      const changed = documents().filter((document) =>
        [...(asked.get(document) ?? [])].some(
          ([path, hash]) => path !== document.place.path && hashOf(file(document, path)) !== hash,
        ),
      );
      for (const document of changed) [checked, found].forEach((map) => map.delete(document));
      return changed;
    },
  };
}
