// Draws media/icon.png from media/icon.svg with a Chromium: node scripts/icon.mjs
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const media = join(new URL('..', import.meta.url).pathname, 'media');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ viewport: { width: 256, height: 256 } });
await page.setContent(
  `<style>body { margin: 0 } svg { display: block }</style>${readFileSync(join(media, 'icon.svg'))}`,
);
await page.screenshot({ path: join(media, 'icon.png'), omitBackground: true });
await browser.close();
