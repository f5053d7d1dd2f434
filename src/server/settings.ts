/** The client's `ikboLens` section. Anything missing or of the wrong type takes its default. */
import type { Finding } from '../core/finding';

export interface Settings {
  readonly enable: boolean;
  readonly hints: boolean;
  /** Codes or prefixes; empty selects every rule. */
  readonly select: readonly string[];
  readonly ignore: readonly string[];
  /** The user's interpreter: its PyTorch counts where the project requires none. Empty for the virtual environment's. */
  readonly python: string;
}

export const DEFAULTS: Settings = { enable: true, hints: false, select: [], ignore: [], python: '' };

export function parseSettings(value: unknown): Settings {
  const section = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  return {
    enable: typeof section.enable === 'boolean' ? section.enable : DEFAULTS.enable,
    hints: typeof section.hints === 'boolean' ? section.hints : DEFAULTS.hints,
    select: codes(section.select),
    ignore: codes(section.ignore),
    python: typeof section.python === 'string' ? section.python : DEFAULTS.python,
  };
}

/** `ignore` wins over `select`, as on the command line. */
export function isSelected(finding: Pick<Finding, 'rule'>, settings: Pick<Settings, 'select' | 'ignore'>): boolean {
  const named = (list: readonly string[]) => list.some((code) => finding.rule.startsWith(code));
  return (settings.select.length === 0 || named(settings.select)) && !named(settings.ignore);
}

function codes(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((code) => typeof code === 'string' && code !== '') : [];
}
