import type { Counter, Histogram, Meter, Observable } from '@opentelemetry/api'
import { durationBuckets, metricCatalogue, type MetricEntry } from './catalogue.ts'
import { type OpenTelemetry, theApi } from './open-telemetry.ts'

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
  const { ValueType } = theApi()
  const entries = Object.entries(metricCatalogue).map(([key, entry]) => [
    key,
    createInstrument(meter, entry, ValueType),
  ])
  return Object.fromEntries(entries) as Instruments
}

function createInstrument(
  meter: Meter,
  { name, instrument, unit, description }: MetricEntry,
  ValueType: OpenTelemetry['ValueType'],
) {
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
