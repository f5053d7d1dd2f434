/** The `ikbo` command: options and help. What each subcommand does is in its own file. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { version } from '../../package.json';
import { REGIMES } from '../protocol/bench';
import type * as Server from '../server/main';
import { bench, type BenchArguments } from './bench';
import { check, FORMATS, type CheckArguments } from './check';
import type { Context } from './context';
import { devices } from './devices';
import { explain } from './explain';
import { fix } from './fix';
import { rewrite, show, type RewriteArguments } from './models';
import { EXIT, type ExitCode } from './output';
import { verify, type VerifyArguments } from './verify';

const EXIT_CODES = `
Exit codes:
  0  no findings
  1  findings (for fix: findings left, or a diff printed)
  2  could not run: wrong usage, something named is not there, or nothing could be read
verify: 0 same results, 1 not the same, 2 not compared`;

const VERIFY_HELP = `
What the arguments of the function are made of, the first that is there:
  --arg and --shape on the command line,
  comments in the file:   # ikbo: B=64, user=[B, 32], index=[N] < B, mask=[B, T] bool
  ikbo.toml:              [shapes]
  the code itself:        jaxtyping annotations, shapes in docstrings (query [B, D]), defaults.
Both versions run in a process of their own, the original first in fp64 as the truth, then both in fp32 and bf16.
Of a notebook, the cells are one program, of which only what the function needs runs: imports, definitions, and the values
that it reads. Code that merely loads data or trains does not; with --main, all cells run.`;

const collect = (value: string, list: readonly string[]): string[] => [...list, value];

/** `--shape B=64 --shape D=32` is `--shape B=64,D=32`. */
const listed = (value: string, before: string): string => (before === '' ? value : `${before},${value}`);

type Optional = 'changedSince' | 'writeBaseline' | 'stdinFilename' | 'jobs' | 'cacheDir';
type CheckOptionValues = Omit<CheckArguments, Optional> & { readonly [K in Optional]?: CheckArguments[K] };

type RewriteOptionValues = Omit<RewriteArguments, 'output' | 'verify' | 'opset'> & {
  readonly opset?: number;
  readonly output?: string;
  readonly verify?: boolean;
};

type VerifyOptional = 'rewrite' | 'call' | 'python' | 'device';
type VerifyOptionValues = Omit<VerifyArguments, VerifyOptional> & { readonly [K in VerifyOptional]?: string };

/** Runs one command line (`argv` as in process.argv) and resolves to its exit code. */
export async function program(context: Context, argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = EXIT.clean;
  const set = (value: ExitCode): void => void (code = value);
  const root = new Command('ikbo')
    .description('Finds tensors that are copied once per row just before a matmul or attention, and removes the copy.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: context.output.out, writeErr: context.output.error })
    .addHelpText('after', EXIT_CODES);

  root
    .command('check')
    .description('report materialized broadcasts in Python files and ONNX models')
    .argument('[paths...]', 'files and folders (default: the current folder); - reads standard input')
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('text'))
    .option('--hints', 'also report broadcasts that are read without a copy', false)
    .option('--statistics', 'print only the number of findings per rule', false)
    .option('--changed-since <revision>', 'only files that differ from this git revision')
    .option('--write-baseline <file>', 'record the findings in a file, so that later checks report only new ones')
    .option('--ignore-baseline', 'report what the baseline records, too', false)
    .option('--stdin-filename <path>', 'name and place of the text on standard input')
    .option('--jobs <number>', 'threads at most (default: one per processor)', wholeNumber(1))
    .option('--watch', 'check again when something changes, and print what is new and what is gone; Ctrl-C ends', false)
    .option('--no-cache', 'check every file again, and keep no results')
    .option('--cache-dir <folder>', 'where results are kept between runs (default: the cache folder of the user)')
    .action(async (paths: string[], options: CheckOptionValues) =>
      set(
        await check(context, paths, {
          ...options,
          changedSince: options.changedSince ?? null,
          writeBaseline: options.writeBaseline ?? null,
          stdinFilename: options.stdinFilename ?? null,
          jobs: options.jobs ?? null,
          cacheDir: options.cacheDir ?? null,
        }),
      ),
    );

  root
    .command('fix')
    .description('rewrite findings; prints a unified diff unless --write is given')
    .argument('[paths...]', 'files and folders (default: the current folder)')
    .addOption(new Option('--diff', 'print a unified diff (the default)').conflicts('write'))
    .option('--write', 'change the files', false)
    .option('--rule <code>', 'only this rule; may be repeated', collect, [])
    .option('--unsafe', 'also apply suggestions, whose conditions `ikbo check` prints', false)
    .option('--prefer <id>', 'preferred rewrite where several are offered, e.g. ikbo')
    .action(async (paths: string[], options: { write: boolean; rule: string[]; unsafe: boolean; prefer?: string }) =>
      set(
        await fix(context, paths, {
          write: options.write,
          rules: options.rule.map((rule) => rule.toUpperCase()),
          unsafe: options.unsafe,
          prefer: options.prefer ?? null,
        }),
      ),
    );

  root
    .command('verify')
    .description('run the function of a finding before and after its rewrites: error and peak memory')
    .argument('<file:line>', 'where `ikbo check` shows the finding; of a notebook FILE.ipynb:CELL:LINE')
    .option('--rewrite <id>', 'only this rewrite (default: every one that has edits)')
    .option('--shape <sizes>', 'sizes by name, e.g. B=64,D=32; may be repeated', listed, '')
    .option('--arg <name=value>', 'an argument: a shape, e.g. user=[B, D], or Python; may be repeated', collect, [])
    .option('--call <function>', 'what to call, e.g. Ranker.forward (default: the function around the finding)')
    .option('--main', 'run the file as a program instead, and compare what its modules return', false)
    .option('--device <device>', 'cpu or cuda:N (default: the GPU if torch can use one)')
    .option('--python <path>', 'interpreter (default: IKBO_PYTHON, else the virtual environment, else python3)')
    .option('--timeout <seconds>', 'time for one rewrite', seconds, 120)
    .option('--json', 'print as JSON', false)
    .addHelpText('after', VERIFY_HELP)
    .action(async (place: string, options: VerifyOptionValues) =>
      set(
        await verify(context, place, {
          ...options,
          rewrite: options.rewrite ?? null,
          call: options.call ?? null,
          device: options.device ?? null,
          python: options.python ?? null,
        }),
      ),
    );

  root
    .command('explain')
    .description('explain a rule, or list all rules')
    .argument('[rule]', 'code or name, e.g. IKB101')
    .action((rule: string | undefined) => set(explain(context, rule)));

  root
    .command('bench')
    .description('measure an operator before and after, against its opponents')
    .addOption(
      new Option('--op <op>', 'operator').choices(['concat-linear', 'linear-compression', 'attention'] as const),
    )
    .option('--preset <name>', 'named shapes; --preset list shows them')
    .option('--shape <dims>', 'sizes by name, e.g. B=1024,U=15; others come from the preset', listed, '')
    .option('--finding <file:line>', 'the operator and shapes of a finding; of a model also model.onnx:NODE')
    .option('--device <device>', 'cpu or cuda:N (default: the best one present)')
    .addOption(new Option('--dtype <dtype>', 'element type').choices(['fp32', 'fp16', 'bf16'] as const))
    .addOption(
      new Option('--grouping <grouping>', 'how candidates map to users').choices([
        'uniform',
        'uneven',
        'unsorted',
      ] as const),
    )
    .addOption(
      new Option(
        '--regime <regime>',
        `how calls follow each other. ${REGIMES.map(({ id, how }) => `${id}: ${how}`).join(' ')} all: the three of them.`,
      )
        .choices(['burst', 'flush', 'sustained', 'all'] as const)
        .default('flush' as const),
    )
    .option('--arms <ids>', 'only these arms, separated by commas')
    .option('--seconds <seconds>', 'time for the measuring rounds', seconds, 10)
    .option('--seed <seed>', 'seed of the random data', wholeNumber(0), 1)
    .option('--python <path>', 'interpreter for the torch arms (default: as for verify; "none" for none)')
    .option('--json', 'print the result as JSON', false)
    .option('--markdown', 'print the result as a Markdown table', false)
    .action(async (options: BenchArguments) => set(await bench(context, options)));

  root
    .command('show')
    .description('print an ONNX model as text, weights elided')
    .argument('<model>', 'an .onnx file')
    .option('--around <name>', 'only what is near this node or value')
    .action((model: string, options: { around?: string }) => set(show(context, model, options.around)));

  root
    .command('rewrite')
    .description('rewrite an ONNX model into a new file; the original is never overwritten')
    .argument('<model>', 'an .onnx file')
    .addOption(
      new Option('--target <target>', 'standard operators, or ai.ikbo functions')
        .choices(['standard', 'ikbo'] as const)
        .default('standard' as const),
    )
    .option('--only <id>', 'only this rule or RULE:LINE; may be repeated', collect, [])
    .option('-o, --output <file>', 'the new file (default: model.ikbo.onnx beside the original)')
    .option('--force', 'also where the sizes make it a loss', false)
    .option('--opset <version>', 'raise the model to this opset, for operators that are new in it', wholeNumber(1))
    .option('--shape <sizes>', "sizes of the model's inputs to measure both at, as in B=1024,U=16", listed, '')
    .option('--verify', 'fail where onnxruntime-node is missing (default: verify where it is found)')
    .option('--no-verify', 'do not run the models')
    .action(async (model: string, options: RewriteOptionValues) =>
      set(
        await rewrite(context, model, {
          ...options,
          output: options.output ?? null,
          verify: options.verify ?? null,
          opset: options.opset ?? null,
        }),
      ),
    );

  root
    .command('devices')
    .description('list the devices that can be measured')
    .option('--json', 'print as JSON', false)
    .action(async (options: { json: boolean }) => set(await devices(context, options.json)));

  root
    .command('lsp')
    .description('run the language server on stdin and stdout, for any editor')
    .option('--stdio', 'accepted for editors that pass it', true)
    .action(async () => {
      await loadServer(context.dist).serveStdio();
    });

  try {
    await root.parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.clean : EXIT.failed; // Commander has printed what is wrong.
  }
  return code;
}

/** A bundle of its own: what the server alone needs would be read and compiled by each check. */
const loadServer = (dist: string): typeof Server => createRequire(join(dist, 'cli.js'))('./server.js') as typeof Server;

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 3600)) throw new InvalidArgumentError('a number of seconds above 0 and up to 3600.');
  return value;
}

const wholeNumber =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(`a whole number, ${least} or more.`);
    return value;
  };
