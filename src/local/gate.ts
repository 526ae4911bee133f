/**
 * What stands in front of everything that leaves the home of a partition. Somebody else may be the home when its time is over,
 * and nothing but this keeps an answer back that was decided before. So it is looked at where effects leave, not by a timer:
 * after a process was stopped, the first thing that runs may be a socket.
 */
export interface Gate {
  /** By the clock, ms: the time of the core does not pass beyond it. It is not moved back. */
  readonly until: number;
  /**
   * Whether an answer may leave now. Once it said no it says no until it is opened again; it sees to it that calls are refused
   * then.
   */
  mayAnswer(): boolean;
}
