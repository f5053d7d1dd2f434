/** What the constructors of base classes of other files set, which run when something asks for it. */
import { check } from '../check';

const BASE = `import torch
from torch import nn

class Root(nn.Module):
    def __init__(self, heads=8):
        super().__init__()
        self.heads = heads
        setattr(self, 'times', 3)

class Base(Root):
    def __init__(self, heads, width=None):
        super().__init__(heads=heads)
        self.width = width
        self.copies = self.of_all()

    def of_all(self):
        return 1

class Parts(nn.Module):
    single = None

    def __init__(self, heads, groups=1, options=()):
        super().__init__()
        self.heads = heads
        self.groups = 1
        if groups > 1:
            self.groups = groups
        size = heads * groups
        self.size = size
        heads = 1
        self.last = heads
        options = dict(options)
        options['n'] = 1
        self.optional = options['n']
        self.single = self.single or 4
        self.pair, self.half = heads, 2
        self.one = self.other or 4
        self.other = self.one
        self.named = dict(heads=heads)['heads']
`;
const files = { read: (path: string) => (path === 'base.py' ? BASE : undefined) };

const copied = (call: string, times: string, more = ''): string => `
from base import Base

class Scorer(Base):
    def __init__(self, d):
        ${call}
        self.fc = nn.Linear(d, d)${more}
    def forward(self, user):
        return self.fc(user.repeat_interleave(${times}, dim=0))`;

const FOUND = '  #= fc  #! IKB102 -> fc';

describe('constructors of base classes of other files', () => {
  const CASES: Readonly<Record<string, string>> = {
    'give what they were called with': copied('super().__init__(heads=4)', 'self.heads') + FOUND,
    'one copy is none': copied('super().__init__(heads=1)', 'self.heads'),
    'through several levels, by name': copied('super().__init__(1)', 'self.times') + FOUND,
    'what the class has set since stays': copied(
      'super().__init__(1, width=2)',
      'self.width',
      '\n        self.width = 1',
    ),
    'what the class sets first is replaced': copied(
      'self.width = 2\n        super().__init__(1, width=1)',
      'self.width',
    ),
    'by the methods that the class has':
      copied('super().__init__(4)', 'self.copies', '\n    def of_all(self):\n        return 2') + FOUND,
    'a method of the class itself': copied('super().__init__(4)', 'self.of_all()'),
  };
  for (const [name, source] of Object.entries(CASES)) it(name, async () => void (await check(source, { files })));
});

describe('one attribute of the constructor of a base class of another file', () => {
  const parts = (attribute: string, given: string): string =>
    copied(`super().__init__(${given})`, `self.${attribute}`).replaceAll('Base', 'Parts');
  const CASES: Readonly<Record<string, string>> = {
    'is what a parameter is': parts('heads', '4') + FOUND,
    'one of it': parts('heads', '1'),
    'is set again on a condition': parts('groups', '2, 4') + FOUND,
    'rests on a variable': parts('size', '4') + FOUND,
    'a variable that is one': parts('size', '1'),
    'a parameter that is another value by then': parts('last', '4'),
    'a mapping that has been written to': parts('optional', '4'),
    'rests on what it was': parts('single', '4') + FOUND,
    'one of two that are made of each other': parts('one', '4') + FOUND,
    'the other of them': parts('other', '4') + FOUND,
    'the first of two': parts('pair', '4'),
    'the second of two': parts('half', '1') + FOUND,
    'a keyword of the name of a variable': parts('named', '4'),
  };
  for (const [name, source] of Object.entries(CASES)) it(name, async () => void (await check(source, { files })));
});
