/** What a user does in the workbench of VS Code: each is done again until it has come about (`reach.ts`). */
import type { FrameLocator, Locator, Page } from 'playwright-core';
import { holds, type Outcome, reach, seen } from './reach';

/** How long something that must not be done twice may take before it counts as lost. */
const SLOW = 15_000;
/** A notification stays for 15 s; later it is in the list of notifications alone. */
const SHOWN = 10_000;

export interface Workbench {
  /** `shown`: the title of its tab, where that is another. */
  openFile(name: string, shown?: string): Promise<void>;
  /** Types into the quick input that a key opens, and clicks the row with this text. Returns when it was clicked. */
  pick(key: string, typed: string, row: string, outcome: Outcome, settle?: number): Promise<number>;
  /** Runs a command by its title in the palette. */
  command(title: string, outcome: Outcome): Promise<void>;
  tab(title: string | RegExp): Locator;
  activeTab(title: string | RegExp): Locator;
  closeTab(title: string | RegExp): Promise<void>;
  /** Presses a key in the text editor. */
  press(key: string, outcome: Outcome): Promise<void>;
  /** To a 1-based place in the text editor, and there does what is to lead to the outcome. */
  at(row: number, column: number, what: string, outcome: Outcome, act: () => Promise<unknown>): Promise<void>;
  /** The status bar says that the cursor is on this 1-based line, which may be a pattern. */
  onLine(row: number | string, column?: number): Locator;
  /** Rows of the Problems view with this text; opens the view. */
  problems(text: string | RegExp): Promise<Locator>;
  /** The keyboard goes into the text editor, to the place of an entry of Problems. */
  goTo(entry: Locator): Promise<void>;
  /** Opens the menu of fixes at an entry of Problems: `row` is in it. */
  openFixes(entry: Locator, row: Locator): Promise<void>;
  /** Clicks a row of that menu. */
  fix(entry: Locator, row: Locator, outcome: Outcome): Promise<void>;
  /** A row of the menu of fixes; `.focused` is the one that Enter would take. */
  fixes(text: RegExp, state?: '' | '.focused'): Locator;
  notice(text: string | RegExp): Promise<Locator>;
  /** Clicks a button of a notification. */
  answer(text: string | RegExp, button: string, outcome: Outcome): Promise<void>;
  clearNotices(): Promise<void>;
  theme(title: string): Promise<void>;
  /** The page that the extension has opened last. */
  panel(): FrameLocator;
}

export function workbenchOf(page: Page): Workbench {
  const input = page.locator('.quick-input-widget input[type=text]');
  const rows = page.locator('.quick-input-list .monaco-list-row');
  const nothing = rows.filter({ hasText: /^No matching / });
  const menus = page.locator('.action-widget, .quick-input-widget, .monaco-menu').filter({ visible: true });
  const typing = page.locator('.monaco-editor.focused');
  const typingInCell = page.locator('.notebook-editor .monaco-editor.focused');
  const view = page.locator('.markers-panel');
  const notices = page.locator('.notification-list-item').filter({ visible: true });
  const webviews = page.locator('iframe.webview.ready[src*="extensionId=ikbo-lens"]');
  const center = page.locator('.notifications-center.visible');
  const tab = (title: string | RegExp): Locator => page.locator('.tab').filter({ hasText: title });
  const activeTab = (title: string | RegExp): Locator => page.locator('.tab.active').filter({ hasText: title });
  const onLine = (row: number | string, column?: number): Locator =>
    page.locator('.statusbar-item').filter({ hasText: new RegExp(`Ln ${row}, Col ${column ?? '\\d+'}(?!\\d)`) });
  const fixes = (text: RegExp, state = ''): Locator =>
    page
      .locator(`.action-widget .monaco-list-row${state}, .quick-input-list .monaco-list-row${state}`)
      .filter({ hasText: text });

  /** Nothing is open that would take the next key, and nothing hovers above what is clicked next. */
  const dismiss = async (patience: number): Promise<void> => {
    await page.mouse.move(0, 0);
    for (let left = 3; left > 0 && (await holds(menus)); left--) {
      await page.keyboard.press('Escape');
      await seen(async () => !(await holds(menus)), patience / 4);
    }
  };
  const focusEditor = async (patience: number): Promise<void> => {
    await dismiss(patience);
    if (!(await holds(typing))) await page.keyboard.press('Control+1');
    await typing.first().waitFor({ timeout: patience });
  };
  /** The mouse comes first: until it moves, a layer above a menu that has just opened takes all clicks. */
  const choose = async (row: Locator, patience: number): Promise<void> => {
    await row.first().hover({ force: true, timeout: patience });
    await row.first().click({ timeout: patience });
    await row.first().waitFor({ state: 'hidden', timeout: patience });
  };
  const goTo = async (entry: Locator, patience: number): Promise<void> => {
    await dismiss(patience);
    // Rows move as problems come and go: the cursor tells whether it was this one.
    const line = /\[Ln (\d+),/.exec(await entry.first().innerText({ timeout: patience }))?.[1] ?? '';
    await entry.first().dblclick({ timeout: patience });
    await typing.first().waitFor({ timeout: patience });
    await onLine(line).or(typingInCell).waitFor({ timeout: patience });
  };
  const openFixes = async (entry: Locator, row: Locator, patience: number): Promise<void> => {
    await goTo(entry, patience);
    await page.keyboard.press('Control+.');
    await row.first().waitFor({ timeout: patience });
  };
  const pick: Workbench['pick'] = async (key, typed, row, outcome, settle) => {
    let clicked = 0;
    const open = async (patience: number): Promise<void> => {
      await dismiss(patience);
      await page.keyboard.press(key);
      await input.fill(typed, { timeout: patience });
      const wanted = rows.filter({ hasText: row });
      // A search that is slow is not lost: its rows may come as long as it is open.
      const over = async (): Promise<boolean> => !(await holds(input)) || (await holds(nothing));
      await seen(async () => (await holds(wanted)) || (await over()), SLOW);
      clicked = Date.now();
      await wanted.first().click({ timeout: patience });
    };
    await reach(`${row} of the palette`, outcome, open, settle);
    return clicked;
  };
  const command: Workbench['command'] = async (title, outcome) =>
    void (await pick('F1', `>${title}`, title, outcome, SLOW));
  const notice = async (text: string | RegExp): Promise<Locator> => {
    const item = notices.filter({ hasText: text }).first();
    const list = async (): Promise<void> => {
      if (!(await seen(item, SHOWN))) await command('Notifications: Show Notifications', center);
    };
    await reach(`notification ${text}`, item, list);
    return item;
  };

  return {
    pick,
    command,
    tab,
    activeTab,
    onLine,
    fixes,
    notice,
    openFile: async (name, shown = name) => void (await pick('Control+P', name, name, activeTab(shown), SLOW)),
    async closeTab(title) {
      const gone = async (): Promise<boolean> => (await tab(title).count()) === 0;
      const act = async (timeout: number): Promise<void> => {
        await tab(title).first().hover({ timeout });
        await tab(title).first().locator('.codicon-close').click({ timeout });
      };
      await reach(`tab ${title} closed`, gone, act, SLOW);
    },
    async press(key, outcome) {
      const act = async (patience: number): Promise<void> => {
        await focusEditor(patience);
        await page.keyboard.press(key);
      };
      await reach(key, outcome, act, SLOW);
    },
    async at(row, column, what, outcome, act) {
      const there = onLine(row, column);
      const line = rows.filter({ hasText: `Go to line ${row}` });
      await reach(what, outcome, async (patience) => {
        if (!(await holds(there))) {
          await dismiss(patience);
          await page.keyboard.press('Control+G');
          await input.fill(`:${row}:${column}`, { timeout: patience });
          await line.first().click({ timeout: patience });
          await there.waitFor({ timeout: patience });
        }
        await focusEditor(patience);
        await act();
      });
    },
    async problems(text) {
      await reach('the view of problems', view, () => page.keyboard.press('Control+Shift+M'), SLOW);
      return view.locator('.monaco-list-row').filter({ hasText: text, visible: true });
    },
    async goTo(entry) {
      let there = false;
      const act = async (patience: number): Promise<void> => {
        await goTo(entry, patience);
        there = true;
      };
      await entry.first().waitFor();
      await reach('place of the problem', () => there, act);
    },
    async openFixes(entry, row) {
      await entry.first().waitFor();
      await reach('menu of fixes', row, (patience) => openFixes(entry, row, patience));
    },
    async fix(entry, row, outcome) {
      await entry.first().waitFor();
      const act = async (patience: number): Promise<void> => {
        await openFixes(entry, row, patience);
        await choose(row, patience);
      };
      await reach('fix', outcome, act, SLOW);
    },
    async answer(text, button, outcome) {
      const act = async (patience: number): Promise<void> => {
        const item = await notice(text);
        await item.getByRole('button', { name: button }).click({ timeout: patience });
      };
      await reach(`${button} of the notification ${text}`, outcome, act, SLOW);
    },
    clearNotices: () =>
      command('Notifications: Clear All Notifications', async () => !(await holds(notices)) && !(await holds(center))),
    async theme(title) {
      const shown = page.locator(`.monaco-workbench.${title.includes('Dark') ? 'vs-dark' : 'vs'}`);
      // It is shown as soon as it is under the cursor, and is kept only if it was chosen.
      const chosen = async (): Promise<boolean> => (await holds(shown)) && !(await holds(menus));
      await reach(`theme ${title}`, chosen, async (timeout) => {
        await command('Preferences: Color Theme', rows.filter({ hasText: 'Light Modern' }));
        await input.fill(title, { timeout });
        await rows.filter({ hasText: title }).first().click({ timeout });
      });
    },
    panel: () => webviews.last().contentFrame().frameLocator('#active-frame'),
  };
}
