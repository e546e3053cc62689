"""The whole federation at a glance: across sub-clusters, queues and jobs."""
