/**
 * Constructors of base classes that make no layers, `MessagePassing.__init__(aggr='add')`: most of what they set nobody asks for, so
 * they run when something asks for an attribute that they may set.
 */
import type { Inherited, InheritedPart } from './heap';
import type { ClassModel, FunctionModel } from './model';
import type { Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import { hasWord } from './words';

/** Levels of base classes. */
const MAX_LEVELS = 8;

/** Behind what is assigned to. */
const IS = '\\s*(?::[^=\\n(]{1,200})?(?::|[-+*/|&])?=(?!=)';
/** Behind the first of several. */
const ARE = '[ \\t]*,[^=()\\n]{0,200}=(?!=)';
const CHANGED =
  '\\[[^\\]\\n]*\\][ \\t]*[-+*/|&]?=(?!=)|\\.(?:pop|append|extend|insert|update|setdefault|remove|clear|add)\\(';

/** Assignments to the attribute, by itself or as one of several. */
const settersOf = (name: string): RegExp =>
  new RegExp(`\\bself\\.${name}\\b${IS}|^[ \\t(]*(?:[\\w.]+[ \\t]*,[ \\t]*)*self\\.${name}${ARE}`, 'gm');

/** Could one of the constructors that were put off set the attribute? */
export const mayInherit = (inherits: readonly Inherited[], name: string, project: Classes): boolean =>
  inherits.some(
    ({ init: { owner } }) => owner !== null && maySet(owner, name, project, project.method(owner, name) !== null),
  );

type Bases = Pick<Run, 'bases'>;
type Classes = Pick<Run, 'bases' | 'method'>;

const BY_NAME = /(setattr|__setattr__|register_\w+|add_module)\(|\b__dict__\b/;

/** May a text set the attribute by its name? */
const isNamedIn = (text: string, name: string): boolean =>
  (text.includes(`'${name}'`) || text.includes(`"${name}"`)) && BY_NAME.test(text);

/**
 * By its text, and those of its bases. What is a method (or property), too, is that unless a constructor itself replaces it.
 */
export const maySet = (model: ClassModel, name: string, project: Bases, isMethod = false, level = 0): boolean =>
  setsItself(model, name, isMethod) ||
  (level < MAX_LEVELS &&
    project.bases(model).some((base) => typeof base !== 'string' && maySet(base, name, project, isMethod, level + 1)));

/** What classes set, by the attribute: every object of a class is asked for the same. */
const own = {
  methods: new WeakMap<ClassModel, Map<string, boolean>>(),
  others: new WeakMap<ClassModel, Map<string, boolean>>(),
};

function setsItself(model: ClassModel, name: string, isMethod: boolean): boolean {
  const answers = isMethod ? own.methods : own.others;
  const known = answers.get(model) ?? new Map<string, boolean>();
  answers.set(model, known);
  let answer = known.get(name);
  if (answer === undefined) {
    const init = isMethod || model.methods.has(name) ? model.methods.get('__init__') : undefined;
    const text = isMethod && !init ? '' : textOf(init?.node ?? model.node);
    answer = isNamedIn(text, name) || (text.includes(`self.${name}`) && settersOf(name).test(text));
    known.set(name, answer);
  }
  return answer;
}

/**
 * The statements that set the attribute, if they need no variable that the constructor works out before: `self.flow = flow`. All the
 * rest of the constructor then stays put off.
 */
export function settingOf(inherits: readonly Inherited[], name: string, project: Classes): InheritedPart | null {
  const [of, ...others] = inherits.filter((one) => mayInherit([one], name, project));
  const owner = of?.init.owner;
  // Attributes that are made of each other: then all of the constructor runs, in its order.
  if (!of || !owner || others.length > 0 || of.asked.has(name)) return null;
  if (project.bases(owner).some((base) => typeof base !== 'string' && maySet(base, name, project))) return null;
  const known = settings.get(of.init.node) ?? new Map<string, readonly Node[] | null>();
  settings.set(of.init.node, known);
  let statements = known.get(name);
  if (statements === undefined) known.set(name, (statements = statementsSetting(of.init, name)));
  return statements && { of, name, statements };
}

/** Of each constructor, by the attribute. */
const settings = new WeakMap<Node, Map<string, readonly Node[] | null>>();

/** Null where that is not all: set by its name, returned before, or from a variable that other statements set. */
function statementsSetting({ node }: FunctionModel, name: string): readonly Node[] | null {
  const text = textOf(node);
  const sets = settersOf(name);
  if (isNamedIn(text, name) || !text.match(sets) || /\breturn\b/.test(text)) return null;
  const changes = new RegExp(`^self\\.${name}(?:\\[|\\.\\w+\\()`);
  const body = childOf(node, 'body');
  const found = (body?.children ?? []).filter((one) => changes.test(textOf(one)) || textOf(one).match(sets));
  // What it is before comes from elsewhere.
  if (!found[0] || hasWord(textOf(found[0]).replace(sets, ''), `self.${name}`)) return null;
  let before = '';
  for (const statement of body?.children ?? []) {
    if (!found.includes(statement)) before += `${textOf(statement)}\n`;
    else if (!isIndependent(textOf(statement), before)) return null;
  }
  return found;
}

/** Names of keyword arguments are no variables. */
const WORDS = /(?<![.\w])[A-Za-z_]\w*(?!\w|\s*=(?!=))/g;
const STRINGS = /'[^'\n]*'|"[^"\n]*"/g;

/** Does a statement need no variable that the text before it sets? */
function isIndependent(statement: string, before: string): boolean {
  const words = new Set(statement.replace(STRINGS, '').match(WORDS) ?? []);
  words.delete('self');
  const names = `(?:${[...words].join('|')})\\b`;
  return (
    !/\bself\b(?!\.)/.test(statement) &&
    (words.size === 0 ||
      !new RegExp(`(?<![.\\w])${names}(?=${IS}|${ARE}|${CHANGED})|\\b(?:for|as|import|def)[ \\t]+${names}`).test(
        before,
      ))
  );
}
