import assert from 'node:assert/strict';
import { createRecent } from '../../src/core/recent';

describe('what was used last', () => {
  const filled = () => {
    const left: string[] = [];
    const map = createRecent<string, string>(10, (value) => left.push(value));
    for (const key of ['a', 'b', 'c']) map.set(key, key.toUpperCase(), 3);
    return { map, left };
  };
  it('leaves in the order of its last use when there is no room', () => {
    const { map, left } = filled();
    map.get('a');
    map.set('d', 'D', 3);
    assert.deepEqual(left, ['B']);
    assert.equal(map.get('a'), 'A');
  });
  it('keeps the newest, whatever it weighs', () => {
    const { map, left } = filled();
    map.set('huge', 'HUGE', 100);
    assert.deepEqual(left, ['A', 'B', 'C']);
    assert.equal(map.get('huge'), 'HUGE');
  });
  it('replaces an entry, whose weight no longer counts', () => {
    const { map, left } = filled();
    map.set('a', 'A2', 4);
    assert.deepEqual(left, ['A']);
    assert.deepEqual(['a', 'b', 'c'].map((key) => map.get(key)), ['A2', 'B', 'C']); // prettier-ignore
  });
  it('tells of what is deleted and cleared', () => {
    const { map, left } = filled();
    map.delete('b');
    map.delete('b');
    map.clear();
    assert.deepEqual(left, ['B', 'A', 'C']);
    assert.equal(map.get('a'), undefined);
  });
});
