"""Which fields of a Kubernetes ``Job`` its job here has a place for, and what becomes of the others."""

from __future__ import annotations

from decimal import Decimal

_NOT_HERE = "Hydra has nothing like it"
_PROCESS = "tasks are processes on the node, under your own user there"
_NO_IMAGE = "tasks are processes on the node, not in images: what it runs has to be there, or among the job's files"
NO_VOLUMES = "a task has its work folder: bring files by `files`, keep them by `outputs`"
_NETWORK = "tasks use the node's own network"
_ENDS = "finished jobs stay as long as the operator keeps history"
_KEPT = "what it writes is kept: hydractl logs JOB"
_PROBES = "a task that serves says so by ports and health_check"

Rows = dict[str, str]

# Of each object: the fields that are read, those whose loss changes nothing, and those whose loss does.
ROOT: tuple[set[str], Rows, Rows] = ({"apiVersion", "kind", "metadata", "spec"}, {"status": "the server's own"}, {})
METADATA: tuple[set[str], Rows, Rows] = (
    {"name", "generateName", "labels"},
    {
        **dict.fromkeys(
            (
                "creationTimestamp",
                "uid",
                "resourceVersion",
                "generation",
                "managedFields",
                "selfLink",
                "ownerReferences",
            ),
            "the server's own",
        ),
        "namespace": "whose share it uses is its queue's: --queue",
        "annotations": "Hydra keeps tags, in words: tags",
        "finalizers": _NOT_HERE,
    },
    {},
)
SPEC: tuple[set[str], Rows, Rows] = (
    {"template", "parallelism", "completions", "completionMode", "backoffLimit", "backoffLimitPerIndex",
     "activeDeadlineSeconds", "suspend"},
    {"ttlSecondsAfterFinished": _ENDS, "selector": "the server's own", "manualSelector": "the server's own",
     "podReplacementPolicy": "a task is tried again once its attempt has ended", "managedBy": _NOT_HERE},
    {"podFailurePolicy": "every failure counts as a retry", "successPolicy": "all tasks have to succeed",
     "maxFailedIndexes": "one task that fails for good fails the job"},
)  # fmt: skip
POD: tuple[set[str], Rows, Rows] = (
    {"containers", "restartPolicy", "nodeSelector", "nodeName", "activeDeadlineSeconds",
     "terminationGracePeriodSeconds", "volumes"},
    {
        **dict.fromkeys(("hostNetwork", "dnsPolicy", "dnsConfig", "hostname", "subdomain"), _NETWORK),
        "setHostnameAsFQDN": _NETWORK,
        **dict.fromkeys(("serviceAccountName", "serviceAccount", "automountServiceAccountToken"), _PROCESS),
        **dict.fromkeys(("securityContext", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"), _PROCESS),
        "imagePullSecrets": "there is no image", "enableServiceLinks": _NOT_HERE, "schedulerName": _NOT_HERE,
        "priorityClassName": "--priority PRIORITY", "priority": "--priority PRIORITY", "preemptionPolicy": _NOT_HERE,
        "tolerations": "nodes are kept free by partitions and node_labels", "overhead": _NOT_HERE,
        "os": _NOT_HERE, "readinessGates": _PROBES,
    },
    {
        "initContainers": "write them as a group of their own, and name it in `after`",
        "ephemeralContainers": _NOT_HERE,
        "affinity": "say the nodes by node_labels and locality",
        "topologySpreadConstraints": "say placement: spread", "hostAliases": _NETWORK,
        "runtimeClassName": _PROCESS, "resourceClaims": "ask by resources", "schedulingGates": "it would begin at once",
    },
)  # fmt: skip
CONTAINER: tuple[set[str], Rows, Rows] = (
    {"name", "command", "args", "env", "envFrom", "volumeMounts", "resources", "workingDir"},
    {
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe", "ports"), _PROBES),
        **dict.fromkeys(("terminationMessagePath", "terminationMessagePolicy"), _KEPT),
        "imagePullPolicy": "there is no image", "securityContext": _PROCESS, "resizePolicy": _NOT_HERE,
        "tty": "hydractl logs JOB -f", "stdinOnce": "nothing is on its standard input",
    },
    {
        "image": _NO_IMAGE, "volumeDevices": NO_VOLUMES, "lifecycle": "put it into the command",
        "stdin": "nothing is on its standard input", "restartPolicy": "say it of the pod",
    },
)  # fmt: skip
# Fields of a pod that a container finds by reference, as variables of the task's.
REFERENCES = {
    "metadata.name": "$HYDRA_CONTAINER_ID", "metadata.uid": "$HYDRA_CONTAINER_ID",
    "metadata.namespace": "$HYDRA_QUEUE", "spec.nodeName": "$HYDRA_NODE", "status.hostIP": "$HYDRA_HOST",
    "status.podIP": "$HYDRA_HOST", "spec.serviceAccountName": "$HYDRA_USER",
    "metadata.annotations['batch.kubernetes.io/job-completion-index']": "$HYDRA_TASK_INDEX",
    "metadata.labels['batch.kubernetes.io/job-completion-index']": "$HYDRA_TASK_INDEX",
    "metadata.labels['batch.kubernetes.io/job-name']": "$HYDRA_JOB_NAME",
    "metadata.labels['job-name']": "$HYDRA_JOB_NAME",
}  # fmt: skip
GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
# What of Hydra a resource is, and how many units of it one is.
RESOURCES: dict[str, tuple[str, Decimal]] = {
    "cpu": ("vcores_milli", Decimal(1000)), "memory": ("memory_mib", Decimal(1) / 2**20),
    **dict.fromkeys(GPUS, ("gpus", Decimal(1))),
}  # fmt: skip
