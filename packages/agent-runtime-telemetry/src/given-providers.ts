// These have no types of OpenTelemetry: a program that does not install it compiles all the same.

/** A `MeterProvider` of OpenTelemetry. */
export interface GivenMeterProvider {
  getMeter(name: string, version?: string, options?: { schemaUrl?: string }): object
}

/** A `TracerProvider` of OpenTelemetry. */
export interface GivenTracerProvider {
  getTracer(name: string, version?: string, options?: { schemaUrl?: string }): object
}
