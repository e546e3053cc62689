"""What emptying a node or a sub-cluster would do: across jobs, queues and nodes."""
