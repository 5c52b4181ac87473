import { Choice } from '../view/choice';
import { type Measure, queriesOf, unitOfWay, WAYS, type Way, wayText } from './ways';

export interface WayChoiceProps {
  readonly measure: Measure;
  readonly title: string;
  readonly way: Way;
  readonly onWay: (way: Way) => void;
}

/** A control that chooses how a counter or a histogram is shown. */
export function WayChoice({ measure, title, way, onWay }: WayChoiceProps) {
  return (
    <Choice
      label="Show"
      name={`Show ${title} as`}
      value={way}
      options={WAYS[measure.kind]}
      onChoose={(chosen) => onWay(chosen as Way)}
    />
  );
}

/**
 * Returns properties of a `QueryGraph` for a counter or histogram: its queries, and a description of what is
 * drawn.
 */
export function measuredProps(measure: Measure, way: Way, onWay: (way: Way) => void, title = measure.name) {
  const queriesAt = (stepS: number) => queriesOf(measure, way, stepS);
  return {
    unit: unitOfWay(measure, way),
    queriesAt,
    controls: <WayChoice measure={measure} title={title} way={way} onWay={onWay} />,
    shows: (stepS: number) => (
      <>
        {wayText(measure, way)}: <code>{queriesAt(stepS)[0]!.query}</code>
      </>
    ),
  };
}
