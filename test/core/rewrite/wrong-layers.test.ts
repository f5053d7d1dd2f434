import { type Expected, type Model, expectRewrite, modelText } from './wrong';

const check = (title: string, model: Model, expected: Expected): void => {
  it(title, () => expectRewrite(modelText(model), 'decompose', expected));
};

const refused = (reason: RegExp): Expected => ({ tier: 'none', reason });
const safe: Expected = { tier: 'safe' };

const subclass = (...body: string[]): Model => ({ tail: ['class Sub(Model):', ...body.map((line) => `    ${line}`)] });
const init = (...lines: string[]): string[] => ['def __init__(self):', ...lines.map((line) => `    ${line}`)];
const outside = (...lines: string[]): Model => ({
  tail: ['def build():', '    m = Model()', ...lines.map((line) => `    ${line}`), '    return m'],
});
const made = (...lines: string[]): Model => ({ init: lines });
const LAYER = 'self.fc = nn.Linear(10, 8)';

describe('rewrites: a layer that is not what its name says', () => {
  const replaced = refused(/line \d+ puts another module in the place of `(self|m)\.fc`/i);
  check('a subclass that replaces it', subclass(...init('super().__init__()', 'self.fc = nn.Identity()')), replaced);
  check(
    'a subclass of a subclass',
    {
      tail: ['class A(Model):', '    pass', 'class B(A):', '    def setup(self):', '        self.fc = nn.Tanh()'],
    },
    replaced,
  );
  check('a subclass that makes it a method', subclass('def fc(self, x):', '    return x'), refused(/subclass/));
  check(
    'a subclass that makes it a property',
    subclass('@property', 'def fc(self):', '    return id'),
    refused(/subclass/),
  );
  check('a subclass with a class attribute', subclass('fc = None'), refused(/subclass/));
  check('a subclass that adds another layer', subclass(...init('super().__init__()', 'self.out = nn.Tanh()')), safe);
  check(
    'another class with such a layer',
    { tail: ['class C(nn.Module):', ...init('self.fc = nn.Tanh()').map((l) => `    ${l}`)] },
    safe,
  );
  check('a caller that replaces it', outside('m.fc = nn.Tanh()'), replaced);
  check('a caller that replaces two', outside('m.x, m.fc = 1, nn.Tanh()'), replaced);
  check('a caller that deletes it', outside('del m.fc'), replaced);
  check('a caller that reads it', outside('print(m.fc)', 'w = m.fc.weight'), safe);
  check('a caller that shares its weight', outside('m.fc.weight = m.other.weight'), safe);
  check('setattr', outside("setattr(m, 'fc', nn.Tanh())"), refused(/may put another module/));
  for (const table of ['m.__dict__', 'self.__dict__', 'vars(m)'])
    check(table, outside(`${table}["fc"] = nn.Tanh()`), refused(/may put another module/));
  const byName = (line: string): Model => ({
    head: ["NAME = 'fc'"],
    tail: ['def build(m, kind):', `    ${line}`, '    return m'],
  });
  check(
    'a name of too many parts to be looked at',
    byName(`setattr(m, f'${Array.from({ length: 40 }, (_, i) => `{kind[${i}]}`).join('f')}', nn.Tanh())`),
    refused(/may put another module/),
  );
  for (const line of [
    "setattr(m, 'f' + 'c', nn.Tanh())",
    "setattr(m, f'{kind}c', nn.Tanh())",
    "setattr(m, '%sc' % kind, nn.Tanh())",
    "setattr(m, ''.join(['f', 'c']), nn.Tanh())",
    'setattr(m, NAME, nn.Tanh())',
    "m.add_module('{}c'.format(kind), nn.Tanh())",
    "m.__setattr__('f' 'c', nn.Tanh())",
    "m._modules['f' + 'c'] = nn.Tanh()",
    "m.__dict__['_modules'][f'f{kind}'] = nn.Tanh()",
    "delattr(m, 'f' + kind)",
    "getattr(m, 'fc').forward = torch.tanh",
    "getattr(m, 'fc').register_forward_hook(print)",
  ])
    check(line, byName(line), refused(/may put another module/));
  for (const line of [
    "setattr(m, f'layer{kind}', nn.Tanh())",
    "setattr(m, 'lr_' + kind, 3)",
    "print(getattr(m, 'fc').weight)",
    'print(vars(m)[kind])',
  ])
    check(line, byName(line), safe);
  check(
    'a name that is put together for its own class',
    made(LAYER, "setattr(self, 'f' + 'c', nn.Tanh())"),
    refused(/may put another module/),
  );
  check(
    'and for another one',
    { tail: ['class C(nn.Module):', ...init("setattr(self, 'f' + 'c', nn.Tanh())").map((l) => `    ${l}`)] },
    safe,
  );
  check('object.__setattr__', outside("object.__setattr__(m, 'fc', print)"), refused(/may put another module/));
  const walk = (change: string): Model => ({
    tail: ['def wrap(m):', '    for name, child in m.named_children():', `        ${change}`, '    return m'],
  });
  check(
    'a walk that wraps',
    walk('setattr(m, name, nn.Sequential(nn.Tanh(), child))'),
    refused(/line 16 replaces modules without naming them/i),
  );
  check('a walk that freezes', walk('child.requires_grad_(False)'), safe);
  check(
    'a walk, and attributes of something else',
    { ...walk('print(name)'), head: ['def fill(o, k, v):', '    setattr(o, k, v)'] },
    safe,
  );
  const own = (decorator: string): Model => ({ tail: [`    ${decorator}`, '    def fc(self):', '        return id'] });
  check('a property of its own', own('@property'), refused(/`fc` is made anew whenever it is read/));
  check('a cached property of its own', own('@functools.cached_property'), refused(/is made anew/));
  check('_modules', outside('m._modules["fc"] = nn.Tanh()'), refused(/may put another module/));
  check('a forward of its own', made(LAYER, 'self.fc.forward = lambda x: x * 0'), refused(/replaces the forward/));
  check('a forward set outside', outside('m.fc.forward = print'), refused(/replaces the forward/));
  check('a patched class', { tail: ['nn.Linear.forward = print'] }, refused(/replaces `nn\.Linear\.forward`/));
  check('a hook outside', outside('m.fc.register_forward_hook(print)'), refused(/wraps or hooks/));
  check('a weight norm outside', outside('nn.utils.weight_norm(m.fc)'), refused(/wraps or hooks/));
  check(
    'a hook by another name',
    made('fc = nn.Linear(10, 8)', 'fc.register_forward_hook(print)', 'self.fc = fc'),
    refused(/wraps or hooks `self\.fc`/),
  );
  for (const change of [
    'del ls[0]',
    'ls.insert(0, nn.Tanh())',
    'ls.reverse()',
    'ls[0] = nn.Tanh()',
    'ls.pop(0)',
    'f(ls)',
  ]) {
    check(
      `a list that is changed by ${change}`,
      made('ls = [nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 8)]', change, 'self.fc = nn.Sequential(*ls)'),
      refused(/nn\.Sequential at line/),
    );
  }
  it('goes by another name', () =>
    expectRewrite(
      modelText({
        imports: ['import torch', 'import torch.nn as nn', 'from torch.nn import Linear as Lin, Sequential as Seq'],
        init: ['self.fc = Seq(Lin(10, 8), nn.ReLU())'],
      }),
      'decompose',
      { tier: 'safe', text: /self\.fc\[1:\]\(item_part/ },
    ));
  check(
    'a Sequential of a list',
    made('ls = []', 'for _ in range(2):', '    ls += [nn.Linear(10, 10), nn.ReLU()]', 'self.fc = nn.Sequential(*ls)'),
    { tier: 'suggestion', reason: /`self\.fc` begins with the linear layer of line/ },
  );
  check(
    'another layer in a branch',
    made(LAYER, 'if torch.cuda.is_available():', '    self.fc = nn.Tanh()'),
    refused(/nn\.Tanh at line/),
  );
  check(
    'another stage',
    {
      init: ['self.fc = nn.Sequential(nn.Linear(10, 8), nn.ReLU())'],
      ...outside('m.fc[0] = nn.Tanh()'),
    },
    refused(/changes `m\.fc`/),
  );
  check(
    'a stage put in front',
    { init: ['self.fc = nn.Sequential(nn.Linear(10, 8), nn.ReLU())', 'self.fc.insert(0, nn.Tanh())'] },
    refused(/changes `self\.fc`/),
  );
  const plain: Expected = { tier: 'suggestion', reason: /`self\.fc` is a plain linear layer/ };
  const of = (imported: string, called: string, sizes = '10, 8'): Model => ({
    head: [imported],
    init: [`self.fc = ${called}(${sizes})`],
  });
  check('a layer of another package', of('from layers import Linear', 'Linear'), plain);
  check('of a package by another name', of('import tensor_layers as tl', 'tl.Linear'), plain);
  check('of a module of the package', of('from . import layers', 'layers.Linear'), plain);
  check('of another `nn`', { ...of('import other.nn as nn2', 'nn2.Linear') }, plain);
  check('as a stage', { head: ['from layers import Linear'], init: ['self.fc = nn.Sequential(Linear(10, 8), nn.ReLU())'] }, plain); // prettier-ignore
  check('of PyTorch, by its name', of('from torch.nn import (\n    ReLU,\n    Linear,\n)', 'Linear'), safe);
  check('of PyTorch, by its whole name', of('import torch.nn.modules.linear', 'torch.nn.modules.linear.Linear'), safe);
  check('a layer without a weight', of('from layers import Linear', 'Linear', '-1, 8'), refused(/no weight before its first call/)); // prettier-ignore
  check('a plain Sequential', { init: ['self.fc = nn.Sequential(nn.Linear(10, 8), nn.ReLU())'] }, safe);
});
