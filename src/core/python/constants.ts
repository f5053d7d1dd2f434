/** What a dotted name of another package is: a name, or the number that it is known to be. */
import { NUMBER, type Value, name } from './value';

const NUMBERS = /^(math|cmath|np|numpy|scipy|torch)\.(pi|e|tau|inf|nan)$/;

export const outside = (path: string): Value => (NUMBERS.test(path) ? NUMBER : name(path));
