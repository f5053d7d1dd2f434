/** `IKBO Lens: Show Devices`: what can be measured on, and why the rest cannot. */
import * as vscode from 'vscode';
import { failureOf, type Bench } from './bench';
import type { Status } from './status';

export async function showDevices(bench: Bench, status: Status): Promise<void> {
  try {
    const found = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: 'IKBO Lens: looking for devices' },
      () => bench.devices(),
    );
    status.devices(found);
    const items: vscode.QuickPickItem[] = [
      ...found.devices.map(({ id, name, detail }) => ({ label: id, description: name, detail })),
      ...found.notes.map((note) => ({ label: '$(info)', description: note })),
    ];
    await vscode.window.showQuickPick(items, { placeHolder: 'Devices of this machine', matchOnDescription: true });
  } catch (error) {
    const { message, command } = failureOf(error);
    void vscode.window.showErrorMessage(command ? `${message} Run: ${command}` : message);
  }
}
