// The unread count of one room: a count by the server as of some `seq`, and what came after it.

export class Unread {
  private base = 0;
  private asOf = 0;
  private mentions = 0;
  private later: { seq: number; isMention: boolean }[] = [];
  /** Grows with every counted message; tells whether something came while a count was read. */
  version = 0;

  get count(): number {
    return Math.min(100, this.base + this.later.length);
  }

  get mentionCount(): number {
    return Math.min(100, this.mentions + this.later.filter((message) => message.isMention).length);
  }

  /** The server's counts, taken when the room's head was `asOf`. */
  counted(unread: number, mentions: number, asOf: number): void {
    this.base = unread;
    this.mentions = mentions;
    this.asOf = asOf;
    this.later = this.later.filter((message) => message.seq > asOf);
  }

  /** A message by somebody else was created at `seq`. */
  arrived(seq: number, isMention: boolean): void {
    if (seq <= this.asOf || this.later.some((message) => message.seq === seq)) return;
    this.version++;
    this.later.push({ seq, isMention });
    if (this.later.length > 200) this.later.shift();
  }

  readAll(asOf: number): void {
    this.counted(0, 0, asOf);
  }
}
