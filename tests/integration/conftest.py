"""Commands of these tests keep prepared data in a cache of their own."""

from session_cache import cache

__all__ = ["cache"]
