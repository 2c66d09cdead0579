"""Nodes: node types, the local cloud under Ray's autoscaler, interruption notices, cluster.yaml."""
