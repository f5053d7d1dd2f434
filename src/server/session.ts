/** What all features share: the open documents and their analyses, each computed at most once per state of the project. */
import { join } from 'node:path';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { CheckOptions, Engine } from '../core/engine';
import type { Finding, Note } from '../core/finding';
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
  /** Something outside of the documents changed: settings, or files on disk. */
  forget(): void;
}

export interface SessionParts {
  readonly engine: Engine;
  readonly projects: Projects;
  readonly documents: () => readonly LensDocument[];
  readonly settings: (uri: string) => Settings;
}

const NOTHING = { findings: [], notes: [], parsed: true } as const;

export function createSession({ engine, projects, documents, settings }: SessionParts): Session {
  let checked = new WeakMap<LensDocument, Checked>();
  let found = new WeakMap<LensDocument, Checked>();
  const onDisk = new Map<string, TextDocument | undefined>();

  const file = (document: LensDocument, path: string): TextDocument | undefined => {
    const root = document.place.root;
    if (path === document.place.path) return document.text;
    const open = documents().find((other) => other.place.root === root && other.place.path === path);
    if (open) return open.text;
    if (root === null) return undefined;
    const key = `${root}\0${path}`;
    if (!onDisk.has(key)) {
      const read = readText(join(root, path));
      onDisk.set(key, 'text' in read ? TextDocument.create(path, 'python', 0, read.text) : undefined);
    }
    return onDisk.get(key);
  };
  const options = (document: LensDocument): CheckOptions => {
    const project = projects.of(document.place.root);
    const { config } = project;
    const own = settings(document.uri);
    const torch = project.torch(own.python);
    return {
      hints: own.hints || config.hints,
      shapes: config.shapes,
      ...(torch && { torch }),
      files: { read: (path) => file(document, path)?.getText() },
    };
  };
  const analyse = (document: LensDocument, rewrites: boolean): Omit<Checked, 'version'> => {
    const { uri, place, tree } = document;
    const own = settings(uri);
    const project = projects.of(place.root);
    if (!own.enable || project.excluded(place)) return NOTHING;
    const { findings, notes, parsed } = tree.check({ ...options(document), rewrites });
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
      onDisk.clear();
      projects.forget();
    },
  };
}
