/**
 * Quick fixes and lenses of a model that is only read: they run a rewrite of the file, whose result the extension shows as
 * a diff of the two texts.
 */
import { CodeActionKind, type CodeAction, type CodeActionParams, type CodeLens } from 'vscode-languageserver';
import type { Finding } from '../../core/finding';
import { parseDiagnosticData } from '../../protocol/editor';
import { CHAIN_COMMAND, MEASURE_COMMAND, REWRITE_COMMAND } from '../../protocol/onnx';
import type { LensDocument } from '../documents';
import { describeRewrite } from '../features/wording';
import { rangeOf } from '../positions';

/** As the quick fixes of a source file, with commands instead of edits. */
export function modelFixes(document: LensDocument, { context }: CodeActionParams): CodeAction[] {
  return context.diagnostics.flatMap((diagnostic) => {
    const data = parseDiagnosticData(diagnostic.data);
    if (!data || data.version !== document.text.version) return [];
    const id = `${data.rule}:${diagnostic.range.start.line + 1}`;
    return data.rewrites
      .filter((rewrite) => rewrite.edits.length > 0)
      .map((rewrite): CodeAction => {
        const title = `${data.rule} (${rewrite.tier}): ${describeRewrite(rewrite)}`;
        return {
          title,
          kind: CodeActionKind.QuickFix,
          diagnostics: [diagnostic],
          isPreferred: rewrite.tier === 'safe',
          command: { title, command: REWRITE_COMMAND, arguments: [document.uri, id, targetOf(rewrite)] },
        };
      });
  });
}

const targetOf = ({ id }: { readonly id: string }): 'standard' | 'ikbo' => (id === 'ikbo' ? 'ikbo' : 'standard');

/** Beside the lens that says what is copied: rewrite, where that is possible, and the picture of the way. */
export function modelLenses(document: LensDocument, findings: readonly Finding[]): CodeLens[] {
  return findings.flatMap((finding): CodeLens[] => {
    const range = rangeOf(finding);
    const { uri } = document;
    const best = document.model?.file == null ? undefined : finding.rewrites.find(({ tier }) => tier !== 'none');
    const id = `${finding.rule}:${finding.line}`;
    const rewrite = { title: 'Rewrite', command: REWRITE_COMMAND, arguments: [uri, id, best && targetOf(best)] };
    const measure = { title: 'Measure', command: MEASURE_COMMAND, arguments: [uri, id] };
    const chain = { title: 'Show chain', command: CHAIN_COMMAND, arguments: [uri, finding.rule, finding.line] };
    // Without a kernel of its own, a runtime would not show what an operator of ai.ikbo saves.
    const commands = !best ? [chain] : targetOf(best) === 'ikbo' ? [rewrite, chain] : [rewrite, measure, chain];
    return commands.map((command) => ({ range, command }));
  });
}
