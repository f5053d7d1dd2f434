/** The language status item beside "Python": whether the server runs, and on what a benchmark would run. */
import * as vscode from 'vscode';
import { MODEL_LANGUAGE } from '../protocol/onnx';
import type { Devices } from '../protocol/panel';

export type ServerState = 'starting' | 'running' | 'stopped';

export interface Status {
  readonly item: vscode.Disposable;
  server(state: ServerState): void;
  devices(devices: Devices): void;
}

const LABELS = { starting: 'IKBO Lens: starting', running: 'IKBO Lens', stopped: 'IKBO Lens: stopped' } as const;

export function createStatus(): Status {
  const item = vscode.languages.createLanguageStatusItem('ikboLens', [
    { language: 'python' },
    { language: MODEL_LANGUAGE },
  ]);
  item.name = 'IKBO Lens';
  item.command = { title: 'Devices', command: 'ikboLens.showDevices' };
  return {
    item,
    server(state) {
      item.text = LABELS[state];
      item.busy = state === 'starting';
      item.severity =
        state === 'stopped' ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    },
    devices({ devices }) {
      item.detail = devices.map(({ id, name }) => `${id}: ${name}`).join(', ');
    },
  };
}
