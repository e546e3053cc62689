"""Jobs with their groups, tasks, containers, masters, endpoints, outputs and logs."""
