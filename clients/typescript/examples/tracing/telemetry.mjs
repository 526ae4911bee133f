// What an application has already, if it traces: an SDK, started before anything else (`node --import ./telemetry.mjs …`).
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_SERVICE_NAME say where to, and who.
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
process.once('beforeExit', () => provider.shutdown());
