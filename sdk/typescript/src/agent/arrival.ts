/** One arrival of a delivery. It is acknowledged when everything that came with it has ended. */
export class Arrival {
  constructor(
    private left: number,
    private readonly acknowledge: () => void,
  ) {}

  /** Says that one message of it, or its digest, has ended. */
  ended(): void {
    if (--this.left === 0) {
      this.acknowledge();
    }
  }
}
