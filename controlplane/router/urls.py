"""``/api/v1`` and ``/node/v1``."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from controlplane.router import nodeapi
from controlplane.router.views import artifacts, auth, cluster, containers, jobs, nodelife, policy, system

api = [
    path("auth/login", auth.TokenLogin.as_view(), name="login"),
    path("auth/logout", auth.TokenLogout.as_view(), name="logout"),
    path("auth/session", auth.Session.as_view(), name="session"),
    path("auth/csrf", auth.Csrf.as_view(), name="csrf"),
    path("me", auth.Me.as_view(), name="me"),
    path("jobs", jobs.Jobs.as_view(), name="jobs"),
    path("jobs/bulk", jobs.JobsBulk.as_view(), name="jobs-bulk"),
    path("jobs/<int:job_id>", jobs.JobDetail.as_view(), name="job"),
    path("jobs/<int:job_id>/kill", jobs.JobKill.as_view(), name="job-kill"),
    path("jobs/<int:job_id>/retry", jobs.JobRetry.as_view(), name="job-retry"),
    path("jobs/<int:job_id>/explain", jobs.JobExplain.as_view(), name="job-explain"),
    path("jobs/<int:job_id>/priority", jobs.JobPriority.as_view(), name="job-priority"),
    path("jobs/<int:job_id>/tasks", jobs.JobTasks.as_view(), name="job-tasks"),
    path("jobs/<int:job_id>/containers", jobs.JobContainers.as_view(), name="job-containers"),
    path("jobs/<int:job_id>/events", jobs.JobEvents.as_view(), name="job-events"),
    path("jobs/<int:job_id>/outputs", jobs.JobOutputs.as_view(), name="job-outputs"),
    path("containers/<str:container>/logs", containers.ContainerLogs.as_view(), name="container-logs"),
    path("artifacts/<str:digest>", artifacts.ArtifactDetail.as_view(), name="artifact"),
    path("queues", cluster.Queues.as_view(), name="queues"),
    path("queues/<str:path>/rights", policy.QueueRights.as_view(), name="queue-rights"),
    path("policy", policy.Policy.as_view(), name="policy"),
    path("policy/versions", policy.PolicyVersions.as_view(), name="policy-versions"),
    path("policy/validate", policy.PolicyValidate.as_view(), name="policy-validate"),
    path("policy/schema", policy.PolicySchema.as_view(), name="policy-schema"),
    path("sub-clusters", cluster.SubClusters.as_view(), name="sub-clusters"),
    path("sub-clusters/<str:name>/join-tokens", cluster.JoinTokens.as_view(), name="join-tokens"),
    path("nodes", cluster.Nodes.as_view(), name="nodes"),
    path("nodes/<int:node_id>", cluster.NodeDetail.as_view(), name="node"),
    path("nodes/<int:node_id>/cordon", nodelife.NodeCordon.as_view(), name="node-cordon"),
    path("nodes/<int:node_id>/uncordon", nodelife.NodeUncordon.as_view(), name="node-uncordon"),
    path("nodes/<int:node_id>/drain", nodelife.NodeDrain.as_view(), name="node-drain"),
    path("nodes/<int:node_id>/decommission", nodelife.NodeDecommission.as_view(), name="node-decommission"),
    path("maintenance", nodelife.Maintenance.as_view(), name="maintenance"),
    path("maintenance/<int:window_id>/cancel", nodelife.MaintenanceCancel.as_view(), name="maintenance-cancel"),
    path("overview", cluster.Overview.as_view(), name="overview"),
    path("audit", cluster.Audit.as_view(), name="audit"),
    path("healthz", system.Healthz.as_view(), name="healthz"),
    path("metrics", system.Metrics.as_view(), name="metrics"),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
]
node = [
    path("register", nodeapi.RegisterNode.as_view(), name="node-register"),
    path("session", nodeapi.NodeSession.as_view(), name="node-session"),
    path("health", nodeapi.NodeHealthText.as_view(), name="node-health"),
    path("logs", nodeapi.NodeLogs.as_view(), name="node-logs"),
    path("containers/<str:container>/inputs", nodeapi.ContainerInputs.as_view(), name="node-inputs"),
    path("containers/<str:container>/outputs/<str:name>", nodeapi.ContainerOutput.as_view(), name="node-output"),
    path("artifacts/<str:digest>", nodeapi.NodeArtifact.as_view(), name="node-artifact"),
]
