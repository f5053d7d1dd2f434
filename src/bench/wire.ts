/** JSON lines: framing, and the few checks that keep a foreign or older process from being misread. */
import type { HostRequest, HostResponse } from '../protocol/bench';

/** Splits a stream of chunks into lines; a line is handed over when its end has arrived. */
export function lines(take: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const pieces = (rest + chunk).split('\n');
    rest = pieces.pop() ?? '';
    for (const piece of pieces) if (piece.trim() !== '') take(piece);
  };
}

const REQUESTS = ['hello', 'devices', 'run', 'cancel'];
const RESPONSES = ['hello', 'devices', 'progress', 'sample', 'result', 'error'];

/** Null for what is no message of this protocol; unknown fields of known messages are left in place. */
export function parseRequest(line: string): HostRequest | null {
  return message(line, REQUESTS) as HostRequest | null;
}

export function parseResponse(line: string): HostResponse | null {
  return message(line, RESPONSES) as HostResponse | null;
}

function message(line: string, types: readonly string[]): object | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('id' in value) || !('type' in value)) return null;
  return typeof value.id === 'number' && types.includes(String(value.type)) ? value : null;
}
