/** Thrown inside a builder when the rewrite would be wrong or cannot be written; `rewritesFor` turns it into tier `none`. */
export class Refusal {
  constructor(readonly reason: string) {}
}

/** Ends the builder with a reason for the user: what stands in the way, and where. */
export function refuse(reason: string): never {
  throw new Refusal(reason);
}
