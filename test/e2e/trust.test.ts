/** Restricted mode, through the interface of a real VS Code: analysis works, nothing of the workspace is started. */
import assert from 'node:assert/strict';
import { type Editor, editorSession } from './editor';

describe('in an untrusted workspace', function () {
  let editor: Editor;
  const settings = {
    'security.workspace.trust.enabled': true,
    'security.workspace.trust.startupPrompt': 'never',
    'security.workspace.trust.banner': 'never',
  };
  editorSession(this, (started) => (editor = started), settings);

  it('finds and offers fixes', async () => {
    await editor.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
    await editor.openFile('dlrm_ranker.py');
    const entry = (await editor.problems('IKB101')).first();
    await entry.dblclick();
    await editor.page.locator('.squiggly-warning').first().waitFor();
  });

  it('starts no benchmark before the workspace is trusted', async () => {
    await editor.command('IKBO Lens: Open Benchmark');
    const panel = editor.panel();
    await panel.locator('p', { hasText: 'needs a trusted workspace' }).waitFor();
    assert.ok(await panel.locator('#run').isDisabled());
    await panel.locator('button', { hasText: 'Manage trust' }).click();
    await editor.page
      .locator('.workspace-trust-editor a', { hasText: /^Trust$/ })
      .first()
      .click();
    await editor.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor({ state: 'detached' });
    await editor.page.locator('.tab', { hasText: 'Benchmark' }).first().click();
    await editor.panel().locator('#run:not([disabled])').waitFor();
  });
});
