"""Adapters are imported where their host is installed, not collected as doctests."""

collect_ignore_glob = ["host_*.py"]
