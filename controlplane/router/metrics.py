"""What a web process counts of itself."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
REQUESTS = Counter("hydra_http_requests_total", "Answers given", ["method", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "hydra_http_request_seconds",
    "Time from a request's last byte to its answer's first",
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
    registry=REGISTRY,
)
REFUSED = Counter("hydra_http_refused_total", "Requests refused before they were looked at", ["why"], registry=REGISTRY)
WAITING = Gauge("hydra_http_waiting", "Requests that wait for a thread", registry=REGISTRY)
