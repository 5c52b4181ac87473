/** A panel or a variable that is not converted, or not in full. */
export interface LeftOut {
  /** Title of the panel, or `variable` and its label. */
  readonly title: string;
  readonly reason: string;
}
