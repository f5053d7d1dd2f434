/** What the evaluation of a file is given, and whom it tells. */
import type { CallsProducer } from './entries';
import type { SinkEvent } from './run';
import type { Node } from './syntax';

export interface Evaluation {
  readonly onSink: (event: SinkEvent) => void;
  readonly onNote: (node: Node, message: string) => void;
  readonly manyToOne: ReadonlySet<string>;
  readonly stated: ReadonlyMap<string, readonly string[]>;
  /** A variable holds a size that is one symbol: the source's name for it. */
  readonly onName: (symbol: string, name: string, at: Node, inClass: boolean) => void;
}

/** What the text of the main file says. */
export interface Source {
  readonly text: string;
  /** It may make replicas by itself, or there is something to tell of it in any case. */
  readonly isProductive: boolean;
  /** Of its imports. */
  readonly callsProducer: CallsProducer | null;
}
