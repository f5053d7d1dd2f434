/** The client's settings per document, asked for once and again when the client says that they changed. */
import type { Connection } from 'vscode-languageserver';
import { DEFAULTS, parseSettings, type Settings } from './settings';

export interface ClientSettings {
  /** Settings sent at initialization, for clients that cannot be asked. */
  begin(canBeAsked: boolean, initial: unknown): void;
  of(uri: string): Settings;
  /** Resolves when the settings of the document are known. */
  known(uri: string): Promise<void>;
  isKnown(uri: string): boolean;
  change(value: unknown): void;
  close(uri: string): void;
}

export function createClientSettings(connection: Connection): ClientSettings {
  const perDocument = new Map<string, Settings>();
  const asked = new Map<string, Promise<void>>();
  let common = DEFAULTS;
  let canAsk = false;

  const ask = async (uri: string): Promise<void> => {
    if (!canAsk) return;
    const section: unknown = await connection.workspace
      .getConfiguration({ scopeUri: uri, section: 'ikboLens' })
      .catch(() => undefined); // a client that fails to answer gets the defaults
    perDocument.set(uri, parseSettings(section));
  };
  return {
    begin(canBeAsked, initial) {
      canAsk = canBeAsked;
      common = parseSettings(initial);
    },
    of: (uri) => perDocument.get(uri) ?? common,
    known(uri) {
      const answer = asked.get(uri) ?? ask(uri);
      asked.set(uri, answer);
      return answer;
    },
    isKnown: (uri) => !canAsk || perDocument.has(uri),
    change(value) {
      perDocument.clear();
      asked.clear();
      const sent = (value as { readonly ikboLens?: unknown } | null | undefined)?.ikboLens;
      if (!canAsk && sent !== undefined) common = parseSettings(sent);
    },
    close(uri) {
      perDocument.delete(uri);
      asked.delete(uri);
    },
  };
}
