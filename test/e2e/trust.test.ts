/** Restricted mode, through the interface of a real VS Code: analysis works, nothing of the workspace is started. */
import assert from 'node:assert/strict';
import { type Editor, editorSession } from './editor';
import { reach } from './reach';

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
    await editor.goTo(await editor.problems('IKB101'));
    await editor.page.locator('.squiggly-warning').first().waitFor();
  });

  it('starts no benchmark before the workspace is trusted', async () => {
    await editor.command('IKBO Lens: Open Benchmark', editor.activeTab('Benchmark'));
    const panel = editor.panel();
    await panel.locator('p', { hasText: 'needs a trusted workspace' }).waitFor();
    assert.ok(await panel.locator('#run').isDisabled());
    const trust = editor.page.locator('.workspace-trust-editor a', { hasText: /^Trust$/ }).first();
    const manage = panel.locator('button', { hasText: 'Manage trust' });
    await reach('editor of trust', trust, (timeout) => manage.click({ timeout }), 10_000);
    const restricted = editor.page.locator('.statusbar-item', { hasText: 'Restricted Mode' });
    const trusted = async () => !(await restricted.isVisible());
    await reach('trust', trusted, (timeout) => trust.click({ timeout }), 10_000);
    const tab = editor.tab('Benchmark').first();
    await reach('panel', editor.activeTab('Benchmark'), (timeout) => tab.click({ timeout }));
    await editor.panel().locator('#run:not([disabled])').waitFor();
  });
});
