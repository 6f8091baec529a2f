import { ValueType, type Counter, type Histogram, type Meter, type Observable } from '@opentelemetry/api'
import { durationBuckets, metricCatalogue, type MetricEntry } from './catalogue.ts'

/** One instrument for each metric of the catalogue, under its key there. */
export type Instruments = {
  readonly [K in keyof typeof metricCatalogue]: InstrumentKinds[(typeof metricCatalogue)[K]['instrument']]
}

interface InstrumentKinds {
  counter: Counter
  histogram: Histogram
  observableCounter: Observable
  observableGauge: Observable
}

export function createInstruments(meter: Meter): Instruments {
  const entries = Object.entries(metricCatalogue).map(([key, entry]) => [key, createInstrument(meter, entry)])
  return Object.fromEntries(entries) as Instruments
}

function createInstrument(meter: Meter, { name, instrument, unit, description }: MetricEntry) {
  const options = { unit, description }
  switch (instrument) {
    case 'counter':
      return meter.createCounter(name, { ...options, valueType: ValueType.INT })
    case 'histogram':
      return meter.createHistogram(name, {
        ...options,
        advice: { explicitBucketBoundaries: [...durationBuckets] },
      })
    case 'observableCounter':
      return meter.createObservableCounter(name, { ...options, valueType: ValueType.INT })
    case 'observableGauge':
      return meter.createObservableGauge(name, {
        ...options,
        valueType: unit === '1' ? ValueType.DOUBLE : ValueType.INT,
      })
  }
}
