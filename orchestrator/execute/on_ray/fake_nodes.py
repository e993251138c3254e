"""The provider of fake nodes, which the autoscaler of a fake cluster imports, and no other process does."""

from orchestrator.execute.on_ray.ray_internals import load_fake_node_provider

FakeNodes = load_fake_node_provider()
"""Nodes that are processes of this host."""
