/** An event of a service, shown on its graphs. */
export interface GraphAnnotationSpec {
  readonly title: string;
  readonly description: string;
  /** Unix time in seconds. */
  readonly from: number;
  /** Unix time in seconds, included; never before `from`. */
  readonly to: number;
  readonly service: string;
  readonly roles: readonly string[];
}

export interface GraphAnnotation extends GraphAnnotationSpec {
  readonly id: string;
}

/** Selects a service's annotations that overlap the time from `from` to `to` (both inclusive), sorted by time. */
export function annotationsWithin(
  all: readonly GraphAnnotation[],
  service: string,
  from: number,
  to: number,
): GraphAnnotation[] {
  return all
    .filter((each) => each.service === service && each.from <= to && each.to >= from)
    .sort((a, b) => a.from - b.from || (a.id < b.id ? -1 : 1));
}
